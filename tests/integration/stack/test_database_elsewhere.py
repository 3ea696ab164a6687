"""A stack on the database of ``ODDISH_DATABASE_URL``, which a deployment may use: never started by the way."""

import subprocess
import sys
from pathlib import Path

import pytest

from oddish.cli.session import local_endpoint
from oddish.errors import InvalidInput
from oddish.stack import client

from .conftest import Start, belonging_to

NOWHERE = "postgresql+psycopg://nobody:hush@/none?host=/nowhere"


def oddish(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from oddish.cli import main; main()", *arguments]
    return subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("command", [("status",), ("run", "hello-world", "-a", "oracle")])
def test_a_command_does_not_start_one(
    oddish_home: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", NOWHERE)
    monkeypatch.chdir(Path(__file__).parents[3] / "examples")
    ended = oddish(*command)
    assert ended.returncode == 1
    assert "ODDISH_DATABASE_URL is set, and no command starts a local stack" in ended.stderr
    assert "Fix: Name the server in ODDISH_API_URL." in ended.stderr
    assert "hush" not in ended.stderr
    assert belonging_to(oddish_home) == []


def test_one_that_was_started_on_purpose_is_used(
    start: Start, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", database_url)
    with pytest.raises(InvalidInput, match="no command starts a local stack"):
        local_endpoint()
    stack = start()
    assert local_endpoint().url == stack.url


def test_an_older_one_is_not_replaced(start: Start, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", database_url)
    older = start()
    monkeypatch.setattr(client, "__version__", "999.0")
    local_endpoint()
    running = client.find()
    assert running is not None
    assert running.pid == older.pid


def test_one_with_a_key_that_can_be_guessed_is_not_started(oddish_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", NOWHERE)
    ended = oddish("up", "--dev-key", "dev-local-key")
    assert ended.returncode == 1
    assert "is for a database of this machine, and ODDISH_DATABASE_URL names another" in ended.stderr
    monkeypatch.delenv("ODDISH_DATABASE_URL")
    assert belonging_to(oddish_home) == []


def test_oddish_up_says_whose_database_it_is(oddish_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", NOWHERE)
    ended = oddish("up", "--foreground")
    assert ended.returncode != 0
    assert ended.stderr.startswith("ODDISH_DATABASE_URL is set, so this stack works on that database: ")
    assert "hush" not in ended.stderr
    monkeypatch.delenv("ODDISH_DATABASE_URL")
    assert belonging_to(oddish_home) == []
