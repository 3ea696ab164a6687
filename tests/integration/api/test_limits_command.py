"""``oddish admin limits`` against a real server."""

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
    return lambda *arguments: CliRunner().invoke(cli, ["admin", "limits", *arguments])


def said(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(result: Result) -> str:
    assert result.exit_code == 1, result.output
    return result.output


def test_a_key_is_limited_and_returns_to_the_deployments_limit(invoke: Invoke) -> None:
    assert said(invoke("ls")) == "Nothing has been submitted yet, and nothing is limited by an override.\n"
    changed = said(invoke("set", "gpt-5", "2"))
    assert changed == "openai/gpt-5 has limit 2 (override; deployment: 8); running now: 0.\n"
    listed = said(invoke("ls"))
    for shown in ("Key or cap", "openai/gpt-5", "override; deployment: 8", "open"):
        assert shown in listed
    returned = said(invoke("unset", "openai/gpt-5"))
    assert returned == "openai/gpt-5 has limit 8 (ODDISH_DEFAULT_CONCURRENCY); running now: 0.\n"


def test_a_key_is_stopped_paused_and_resumed(invoke: Invoke) -> None:
    said(invoke("set", "openai/gpt-5", "0"))
    assert "stopped" in said(invoke("ls"))
    assert "limit 0 (override; deployment: 8), and is paused" in said(invoke("pause", "openai/gpt-5"))
    assert "paused" in said(invoke("ls"))
    assert "paused" not in said(invoke("resume", "openai/gpt-5"))
    unknown = refused(invoke("pause", "openai/gtp-5"))
    assert "openai/gtp-5" in unknown
    assert "Fix:" in unknown


def test_the_agents_nop_and_oracle_are_limited_together(invoke: Invoke) -> None:
    assert said(invoke("set", "nop_oracle", "2")).startswith("nop_oracle has limit 2 ")
    assert "Fix: Name nop_oracle instead." in refused(invoke("set", "nop", "2"))


def test_providers_and_the_organisation_are_limited(invoke: Invoke) -> None:
    assert said(invoke("set", "20", "--provider", "gemini")).startswith("provider:google has limit 20 (override;")
    assert said(invoke("set", "--org", "50")).startswith("org:default has limit 50 (override; deployment: no limit)")
    assert said(invoke("set", "--gateway", "16")).startswith("gateway:default has limit 16 (override;")
    assert said(invoke("set", "--archives", "4")).startswith("archive:default has limit 4 (override;")
    assert said(invoke("unset", "--org")) == "org:default has no limit; running now: 0.\n"
    assert "none" in said(invoke("ls"))


def test_a_users_weight_is_set_and_listed(server: Server, invoke: Invoke) -> None:
    server.key("a")
    assert said(invoke("weight", "user-a", "0.5")) == "user-a has weight 0.5.\n"
    assert "user-a" in said(invoke("ls"))
    unknown = refused(invoke("weight", "nobody", "2"))
    assert "'nobody'" in unknown
    assert "Fix: `oddish admin key ls`" in unknown
    assert invoke("weight", "user-a", "0").exit_code == 2


def test_json(invoke: Invoke) -> None:
    changed = json.loads(said(invoke("set", "openai/gpt-5", "2", "--json")))
    assert (changed["queue_key"], changed["limit"], changed["source"]) == ("openai/gpt-5", 2, "override")
    assert json.loads(said(invoke("ls", "--json")))["keys"] == [changed]
    assert json.loads(said(invoke("pause", "openai/gpt-5", "--json")))["paused"] is True
    assert json.loads(said(invoke("unset", "openai/gpt-5", "--json")))["override_limit"] is None
    assert json.loads(said(invoke("weight", "admin", "3", "--json"))) == {"user": "admin", "weight": 3}
    wrong = json.loads(refused(invoke("set", "openai/gpt-5", "two", "--json")))
    assert (wrong["code"], "two" in wrong["error"], "unset" in wrong["fix"]) == ("invalid_input", True, True)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["set", "openai/gpt-5"], "openai/gpt-5"),
        (["set", "a", "b", "3"], "a b 3"),
        (["set", "openai/gpt-5", "1.5"], "1.5"),
        (["set", "openai/gpt-5", "9999999"], "9999999"),
        (["set", "3"], "Nothing says whose limit"),
        (["set", "openai/gpt-5", "3", "--org"], "openai/gpt-5 and --org"),
        (["set", "3", "--provider", "openai", "--org"], "--provider openai and --org"),
        (["unset"], "Nothing says whose limit"),
    ],
)
def test_what_names_no_limit_or_several_is_refused(invoke: Invoke, arguments: list[str], named: str) -> None:
    output = refused(invoke(*arguments))
    assert named in output
    assert "Fix:" in output
