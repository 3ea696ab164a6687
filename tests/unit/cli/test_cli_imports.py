"""What the command line may load: starting up is most of what its commands cost."""

import subprocess
import sys

import pytest

FORBIDDEN = {"pydantic", "pydantic_settings", "sqlalchemy", "fastapi", "starlette", "harbor", "litellm", "psycopg"}
OWN_FORBIDDEN = {"oddish.settings", "oddish.api", "oddish.db", "oddish.schemas", "oddish.worker", "oddish.engine"}
COMMANDS = ("run", "status", "cancel", "check", "doctor", "secrets", "admin", "stack")


def loaded_by(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(*sys.modules, sep='\\n', file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(result.stderr.split())


def test_help_loads_click_and_nothing_else_of_size() -> None:
    modules = loaded_by(
        "from oddish.cli import cli\n"
        "from contextlib import suppress\n"
        "with suppress(SystemExit): cli.main(['--help'], prog_name='oddish')"
    )
    assert not modules & (FORBIDDEN | OWN_FORBIDDEN | {"httpx2", "rich", "asyncio", "oddish.client.client"})


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_loads_the_server(command: str) -> None:
    assert not loaded_by(f"import oddish.cli.{command}") & (FORBIDDEN | OWN_FORBIDDEN)


def test_rich_is_loaded_where_something_is_drawn() -> None:
    assert "rich" not in loaded_by("import oddish.cli.run, oddish.cli.status, oddish.cli.cancel")


def test_the_package_offers_the_client_without_loading_it() -> None:
    assert "httpx2" not in loaded_by("import oddish, oddish.client")
    assert "httpx2" in loaded_by("from oddish import Client")
