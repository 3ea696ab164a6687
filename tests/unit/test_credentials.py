"""Which variables an agent can be given for a model, as the installed engine's table says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oddish.credentials import AgentRules, Needs, ProviderVariables, Rule
from oddish.engine.credentials import TABLE, read_table

TESTS = Path(__file__).parents[1]
PROVIDERS = {
    "acme": ProviderVariables(keys=["ACME_KEY"], endpoints=["ACME_BASE_URL"], settings=["ACME_REGION"]),
    "openai": ProviderVariables(keys=["OPENAI_API_KEY"], endpoints=[], settings=[]),
}


def needs(agent: str, model: str | None) -> Needs:
    table = read_table()
    return AgentRules(table["agents"][agent], table["providers"]).needs(model)


def test_the_table_says_what_the_installed_harbor_says() -> None:
    asking = subprocess.run(
        [sys.executable, "-m", "support.harbor_credentials"],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert asking.returncode == 0, asking.stderr
    assert asking.stdout == TABLE.read_text(encoding="utf-8"), "run scripts/agent-credentials and look at what changed"


@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-4-5", "claude-sonnet-4-5", "sonnet", None])
@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"])
def test_claude_code_is_content_with_any_of_its_logins(model: str | None, name: str) -> None:
    found = needs("claude-code", model)
    assert found.required
    assert found.met_by({name})
    assert not found.met_by({"OPENAI_API_KEY"})


@pytest.mark.parametrize(
    ("agent", "model", "name"),
    [
        ("terminus-2", "openai/gpt-5.5", "OPENAI_API_KEY"),
        ("terminus-2", "gemini/gemini-2.5-pro", "GEMINI_API_KEY"),
        ("terminus-2", "openrouter/vendor/model", "OPENROUTER_API_KEY"),
        ("mini-swe-agent", "deepseek/deepseek-chat", "DEEPSEEK_API_KEY"),
        ("codex", "openai/gpt-5.5", "OPENAI_API_KEY"),
        ("codex", "gpt-5.5", "OPENAI_API_KEY"),
        ("gemini-cli", "gemini/gemini-2.5-pro", "GEMINI_API_KEY"),
        ("gemini-cli", "gemini-2.5-pro", "GEMINI_API_KEY"),
        ("qwen-coder", "openai/qwen3-coder", "OPENAI_API_KEY"),
        ("cursor-cli", "anthropic/claude-sonnet-4-5", "CURSOR_API_KEY"),
    ],
)
def test_an_agent_needs_the_key_of_the_provider_of_its_model(agent: str, model: str, name: str) -> None:
    found = needs(agent, model)
    assert found.required
    assert not found.met_by(())
    assert found.met_by({name})


def test_the_key_of_another_provider_is_not_handed_over() -> None:
    assert needs("terminus-2", "anthropic/claude-sonnet-4-5").names == (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_API_BASE",
    )


def test_an_endpoint_of_ones_own_may_need_no_key() -> None:
    assert needs("terminus-2", "openai/gpt-5.5").met_by({"OPENAI_BASE_URL"})


def test_two_halves_of_a_login_are_needed_together() -> None:
    found = needs("rovodev-cli", None)
    assert not found.met_by({"ROVODEV_USER_EMAIL"})
    assert found.met_by({"ROVODEV_USER_EMAIL", "ROVODEV_USER_API_TOKEN"})
    assert found.wording() == "ROVODEV_USER_EMAIL with ROVODEV_USER_API_TOKEN"


def test_a_provider_nobody_knows_may_have_a_key_of_its_name() -> None:
    found = needs("terminus-2", "my-cloud/model")
    assert not found.required
    assert "MY_CLOUD_API_KEY" in found.names


def test_a_rule_without_prefixes_holds_for_all_other_models() -> None:
    named = Rule(prefixes=["openai"], one_of=[], also=["OWN_SETTING"], required=False)
    usual = Rule(one_of=[["@keys"], ["@endpoints"]], also=["@settings"], required=True)
    rules = AgentRules([named, usual], PROVIDERS)
    assert rules.needs("openai/x") == Needs(also=("OWN_SETTING",))
    assert rules.needs("acme/x") == Needs((("ACME_KEY",), ("ACME_BASE_URL",)), ("ACME_REGION",), required=True)
    assert rules.needs("acme/x").names == ("ACME_KEY", "ACME_BASE_URL", "ACME_REGION")


def test_keys_addresses_and_switches_are_told_apart() -> None:
    groups = (("X_FORCE_OAUTH",), ("X_PROJECT",), ("X_BASE_URL",), ("X_API_KEY",), ("X_API_BASE",), ("X_USE_CLOUD",))
    assert Needs(groups, required=True).wording() == (
        "X_API_KEY or X_PROJECT, or an address: X_BASE_URL or X_API_BASE, or a switch: X_FORCE_OAUTH or X_USE_CLOUD"
    )
    assert Needs((("X_BASE_URL",), ("X_API_KEY",)), required=True).wording() == "X_API_KEY, or an address: X_BASE_URL"


def test_the_table_is_small_enough_to_be_published() -> None:
    assert TABLE.stat().st_size < 64 * 1024
