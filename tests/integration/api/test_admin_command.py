"""``oddish admin key`` against a real server."""

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from oddish.cli import cli

from .serving import KEY, Server

type Invoke = Callable[..., Result]


@pytest.fixture
def invoke(server: Server, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("ODDISH_API_URL", server.url)
    monkeypatch.setenv("ODDISH_API_KEY", KEY)

    def call(*arguments: str, answer: str | None = None) -> Result:
        return CliRunner().invoke(cli, ["admin", "key", *arguments], input=answer)

    return call


def exported(result: Result) -> str:
    (line,) = [line for line in result.stdout.splitlines() if "export ODDISH_API_KEY=" in line]
    return line.strip().removeprefix("export ODDISH_API_KEY=")


def test_a_key_is_made_shown_once_and_works(server: Server, invoke: Invoke) -> None:
    made = invoke("create", "CI runner", "--user", "ada", "--expires-in-days", "30")
    assert made.exit_code == 0, made.output
    assert "of ada (member), scope tasks, until " in made.stdout
    key = exported(made)
    assert f"export ODDISH_API_URL={server.url}\n" in made.stdout
    assert server.client(key).get("/tasks").status_code == 200
    assert server.client(key).get("/api-keys").status_code == 403
    listed = invoke("ls")
    assert key not in listed.stdout
    assert f"{key[:11]}…" in listed.stdout
    for shown in ("CI runner", "ada", "member", "usable until ", "bootstrap", "admin"):
        assert shown in listed.stdout


def test_json(server: Server, invoke: Invoke) -> None:
    made = json.loads(invoke("create", "laptop", "--scope", "full", "--role", "admin", "--json").stdout)
    assert (made["name"], made["scope"], made["user"], made["role"]) == ("laptop", "full", "admin", "admin")
    (first, _) = json.loads(invoke("ls", "--json").stdout)["keys"]
    assert (first["id"], "key" in first) == (made["id"], False)
    revoked = json.loads(invoke("revoke", made["id"], "--json").stdout)
    assert (revoked["id"], revoked["revoked_at"] is None) == (made["id"], False)
    refused = invoke("revoke", "absent", "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["code"] == "not_found"


def test_a_key_is_revoked_after_asking(server: Server, invoke: Invoke) -> None:
    made = json.loads(invoke("create", "laptop", "--json").stdout)
    declined = invoke("revoke", made["id"], answer="n\n")
    assert (declined.exit_code, declined.stdout) == (0, "Nothing was revoked.\n")
    nobody = invoke("revoke", made["id"], answer="")
    assert nobody.exit_code == 1
    assert "--yes" in nobody.output
    assert server.client(made["key"]).get("/tasks").status_code == 200
    agreed = invoke("revoke", made["id"], answer="y\n")
    assert agreed.exit_code == 0
    assert f"Key {made['id']} (laptop, of admin) is revoked." in agreed.output
    assert server.client(made["key"]).get("/tasks").status_code == 401
    assert "revoked" in invoke("ls").stdout


def test_the_last_key_is_not_revoked(server: Server, invoke: Invoke) -> None:
    ((bootstrap,),) = server.sql("SELECT id FROM api_keys")
    refused = invoke("revoke", str(bootstrap), "-y")
    assert refused.exit_code == 1
    assert "last usable key" in refused.output
    assert "oddish admin key create" in refused.output


def test_names_are_shown_without_terminal_control(server: Server, invoke: Invoke) -> None:
    server.sql("UPDATE users SET name = %s WHERE id = 'admin'", "\x1b[31mroot\x1b[0m")
    for arguments in (("ls",), ("create", "laptop")):
        assert "\x1b" not in invoke(*arguments).output


@pytest.mark.parametrize("words", ["create", "create x --scope all", "create x --expires-in-days 0", "revoke"])
def test_what_cannot_be_understood(invoke: Invoke, words: str) -> None:
    assert invoke(*words.split()).exit_code == 2


@pytest.mark.parametrize("name", ["create", "ls", "revoke"])
def test_each_command_explains_itself(invoke: Invoke, name: str) -> None:
    shown = invoke(name, "--help")
    assert shown.exit_code == 0
    assert "--json" in shown.stdout
    assert "--api" in shown.stdout
