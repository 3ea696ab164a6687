"""Tools of agents that search and fetch the web at the model's provider, past the network policy of a sandbox. Pure.

On a task whose agent may not reach the internet they are off, unless the submission says otherwise. Where only some of
a task's steps are closed, the engine itself switches them step by step.
"""

from collections.abc import Mapping

from oddish.errors import InvalidInput

SWITCH = "disable_web_search"
"""The engine's own argument, of every agent that has such tools. Set to false it also keeps the engine from switching
them off by itself."""
DENIED = ("WebSearch", "WebFetch")
"""As Claude Code calls them."""
AGENTS = frozenset(
    {
        "claude-code",
        "codex",
        "copilot-cli",
        "cortex-code",
        "deerflow",
        "gemini-cli",
        "grok-build",
        "mimo",
        "openclaw",
        "opencode",
        "opencode-v2",
    }
)
"""Agents that have such tools."""


def with_web_tools(
    agent: str, kwargs: Mapping[str, object], *, disabled: bool | None, closed: bool = False
) -> dict[str, object]:
    """The arguments of ``agent`` after ``disabled``, which None leaves to whether its phases are ``closed``.

    Raises ``InvalidInput`` for a list of tools that cannot be added to.
    """
    if agent not in AGENTS:
        return dict(kwargs)
    if disabled is False:
        return {**kwargs, SWITCH: False}
    if disabled or (closed and kwargs.get(SWITCH) is not False):
        return {**kwargs, **_off(agent, kwargs)}
    return dict(kwargs)


def is_closed(definition: Mapping[str, object]) -> bool:
    """Whether no phase of the task's agent may reach the internet freely."""
    modes = definition.get("agent_network_modes")
    if not isinstance(modes, list):  # a version that was uploaded before they were noted
        environment = definition.get("environment")
        modes = [environment.get("network_mode", "public")] if isinstance(environment, Mapping) else []
    return bool(modes) and "public" not in modes


def _off(agent: str, kwargs: Mapping[str, object]) -> dict[str, object]:
    if agent == "claude-code":
        given = kwargs.get("disallowed_tools") or ""
        if not isinstance(given, str):
            raise InvalidInput(
                f"agent_config.kwargs.disallowed_tools is {given!r}, not a text to which web tools can be added.",
                fix="Give the names of tools separated by commas.",
            )
        tools = [tool.strip() for tool in given.split(",") if tool.strip()]
        return {"disallowed_tools": ",".join(dict.fromkeys((*tools, *DENIED)))}
    if agent == "codex":
        return {"web_search": "disabled"}
    return {SWITCH: True}
