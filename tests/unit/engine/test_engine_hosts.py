"""An agent that may reach one more host still reaches its model."""

from typing import Any

import pytest
from harbor.models.trial.config import AgentConfig

from oddish.engine.hosts import keep_model_host

KEYS = {"ANTHROPIC_API_KEY": "sk-anthropic", "OPENAI_API_KEY": "sk-openai"}
CLAUDE = {"name": "claude-code", "model_name": "anthropic/claude-sonnet-4-5", "env": KEYS}


def hosts(config: dict[str, Any], *extra: str) -> list[str]:
    return keep_model_host(AgentConfig(**config, extra_allowed_hosts=list(extra))).extra_allowed_hosts


@pytest.mark.parametrize(
    ("config", "host"),
    [
        (CLAUDE, "api.anthropic.com"),
        ({"name": "codex", "model_name": "openai/gpt-5", "env": KEYS}, "api.openai.com"),
        (CLAUDE | {"env": KEYS | {"ANTHROPIC_BASE_URL": "https://models.example:8443/v1"}}, "models.example"),
    ],
)
def test_the_host_of_the_model_is_added_to_the_hosts_that_are_named(config: dict[str, Any], host: str) -> None:
    assert hosts(config, "docs.example") == ["docs.example", host]
    assert hosts(config, host) == [host]


def test_where_nobody_names_a_host_it_is_left_to_harbor() -> None:
    assert hosts(CLAUDE) == []


@pytest.mark.parametrize("name", ["oracle", "nop"])
def test_an_agent_without_a_model_in_the_sandbox_gets_what_is_named(name: str) -> None:
    assert hosts({"name": name}, "docs.example") == ["docs.example"]
