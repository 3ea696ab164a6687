"""``oddish costs`` against a real server."""

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from oddish.cli import cli
from support.accounts import Accounts

from .serving import KEY, Server
from .test_costs import TRIALS

type Invoke = Callable[..., Result]


@pytest.fixture
def invoke(server: Server, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("ODDISH_API_URL", server.url)
    monkeypatch.setenv("ODDISH_API_KEY", KEY)
    accounts = Accounts(server.database, "default")
    accounts.open()
    for trial in TRIALS:
        accounts.add(trial)
    return lambda *arguments: CliRunner().invoke(cli, ["costs", *arguments])


def row(shown: Result, start: str) -> list[str]:
    """The words of the line that begins so."""
    return next(line for line in shown.stdout.splitlines() if line.startswith(start)).split()


def test_the_organisation(invoke: Invoke) -> None:
    shown = invoke()
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("Spent since 20")
    assert lines[0].endswith(" UTC: ~$15.25")
    assert "  $0.00 in the 7 days before" in lines
    assert "  7 attempts at 6 trials of 2 users in 2 experiments, 1 of them running" in lines
    assert "  107 tokens in (50 from a cache), 10 out" in lines
    assert row(shown, "codex") == ["codex", "~$11.25", "4", "5", "1"]
    assert row(shown, "aider") == ["aider", "not", "known", "1", "1", "1"]
    assert row(shown, "user u1") == ["user", "u1", "(u1)", "~$4.25", "2", "2", "–"]
    assert lines[-3:] == [
        "What these have cost is not known, and in no sum above:",
        "  1 attempt of aider: nothing says what it used",
        "  1 attempt of codex: openai/secret has no price",
    ]


def test_one_user_over_all_time(invoke: Invoke) -> None:
    shown = invoke("--user", "u0", "--window-days", "0")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.splitlines()[0] == "Spent by user u0 (u0) in all: ~$27.00"
    assert row(shown, "t0") == ["t0", "~$27.00", "5", "6", "2"]


def test_the_answer_as_it_is(invoke: Invoke) -> None:
    found = json.loads(invoke("--json", "--user", "u1").stdout)
    assert (found["billed_user_id"], found["totals"]["cost_usd"]) == ("u1", 4.25)


def test_a_user_who_is_not_there(invoke: Invoke) -> None:
    shown = invoke("--user", "nobody")
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "There is no user 'nobody' here." in shown.stderr
    document = json.loads(invoke("--user", "nobody", "--json").stdout)
    assert (document["status"], document["error"]) == (404, "There is no user 'nobody' here.")


def test_a_key_that_may_not(invoke: Invoke, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_API_KEY", server.key("a1", scope="read"))
    shown = invoke()
    assert shown.exit_code == 1
    assert "full" in shown.stderr
