"""What is said of agents' web tools is what Harbor's agents have and understand."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from harbor.agents.factory import AgentFactory
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.name import AgentName

from oddish.trials.web_tools import AGENTS, with_web_tools

OFF = {"claude-code": "--disallowedTools WebSearch,WebFetch", "codex": "web_search=disabled"}


def agent(name: str, logs: Path, kwargs: dict[str, Any]) -> Any:
    return AgentFactory.create_agent_from_name(AgentName(name), logs, "anthropic/claude-sonnet-4-5", **kwargs)


def phase(agent: Any, *, closed: bool) -> str:
    """The options of the agent's program in such a phase."""
    asyncio.run(agent.set_web_tools_disabled(closed, cast(BaseEnvironment, None)))
    return str(agent.compile_cli_flags())


def test_the_agents_with_web_tools_are_those_of_harbor() -> None:
    kinds = {name: AgentFactory.get_agent_class(AgentName(name)) for name in AgentFactory.registered_names()}
    assert {name for name, kind in kinds.items() if kind.capabilities.native_web_tools} == AGENTS


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_agents_accept_what_switches_their_web_tools(name: str, tmp_path: Path) -> None:
    kind: Any = AgentFactory.get_agent_class(AgentName(name))
    for disabled in (True, False):
        assert kind.parse_options(with_web_tools(name, {}, disabled=disabled), {})


@pytest.mark.parametrize("name", sorted(OFF))
def test_web_tools_that_are_off_are_off_for_the_program(name: str, tmp_path: Path) -> None:
    assert OFF[name] not in phase(agent(name, tmp_path, with_web_tools(name, {}, disabled=None)), closed=False)
    made = agent(name, tmp_path, with_web_tools(name, {}, disabled=True))
    assert OFF[name] in phase(made, closed=False)
    assert OFF[name] in phase(made, closed=True)


@pytest.mark.parametrize("name", sorted(OFF))
def test_web_tools_that_are_wanted_stay_on_in_a_closed_phase(name: str, tmp_path: Path) -> None:
    assert OFF[name] in phase(agent(name, tmp_path, {}), closed=True)
    assert OFF[name] not in phase(agent(name, tmp_path, with_web_tools(name, {}, disabled=False)), closed=True)
