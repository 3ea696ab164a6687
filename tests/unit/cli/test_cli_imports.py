"""What the command line may load: starting up is most of what its commands cost."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from oddish.cli import cli
from oddish.cli.group import LazyGroup

FORBIDDEN = {"pydantic", "pydantic_settings", "sqlalchemy", "fastapi", "starlette", "harbor", "litellm", "psycopg"}
OWN_FORBIDDEN = {"oddish.settings", "oddish.api", "oddish.db", "oddish.schemas", "oddish.worker", "oddish.engine"}
SLOW = {"httpx2", "httpcore2", "h2", "rich", "asyncio", "yaml", "cryptography"}
assert isinstance(cli, LazyGroup)
MODULES = sorted({module for module, _ in cli.commands_by_name.values()})


def loaded_by(code: str, **variables: str) -> set[str]:
    program = f"import sys\n{code}\nprint(*sys.modules, sep='\\n', file=sys.stderr)"
    environ = os.environ | variables
    result = subprocess.run([sys.executable, "-c", program], env=environ, check=True, capture_output=True, text=True)
    return set(result.stderr.split())


def typed(*words: str) -> str:
    return (
        "from oddish.cli import cli\n"
        "from contextlib import suppress\n"
        f"with suppress(SystemExit): cli.main({[*words]!r}, prog_name='oddish')"
    )


def test_help_loads_click_and_nothing_else_of_size() -> None:
    modules = loaded_by(typed("--help"))
    assert not modules & (FORBIDDEN | OWN_FORBIDDEN | SLOW | {"oddish.client.client"})


def test_the_help_of_a_command_loads_no_http() -> None:
    assert not loaded_by(typed("run", "--help")) & (FORBIDDEN | OWN_FORBIDDEN | SLOW)


def test_completing_a_command_loads_none() -> None:
    modules = loaded_by(typed(), _ODDISH_COMPLETE="bash_complete", COMP_WORDS="oddish s", COMP_CWORD="1")
    assert not modules & {*MODULES, "oddish.client", *SLOW}


@pytest.mark.parametrize("module", MODULES)
def test_no_command_loads_the_server(module: str) -> None:
    assert not loaded_by(f"import {module}") & (FORBIDDEN | OWN_FORBIDDEN | {"httpx2", "yaml"})


def test_a_command_that_asks_a_plain_server_loads_no_encryption_of_its_own(server: str) -> None:
    modules = loaded_by(typed("status", "--json"), ODDISH_API_URL=server, ODDISH_API_KEY="ok_1")
    assert "httpx2" in modules
    assert not modules & (FORBIDDEN | OWN_FORBIDDEN | SLOW - {"httpx2"})


@pytest.fixture
def server() -> Iterator[str]:
    """One that knows nothing, and says so."""
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as nothing:
        thread = threading.Thread(target=nothing.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{nothing.server_port}"
        nothing.shutdown()
        thread.join()


def test_rich_is_loaded_where_something_is_drawn() -> None:
    drawing = ("run", "status", "pull", "cancel", "upload")
    assert "rich" not in loaded_by("\n".join(f"import oddish.cli.{command}" for command in drawing))


def test_the_package_offers_the_client_without_loading_it() -> None:
    assert "httpx2" not in loaded_by("import oddish, oddish.client")
    assert "httpx2" not in loaded_by("from oddish import Client")
    assert "httpx2" in loaded_by("from oddish import Client; Client('http://127.0.0.1:1')")
