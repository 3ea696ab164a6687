import pytest

from oddish.errors import InvalidInput
from oddish.trials.web_tools import is_closed, with_web_tools

CLOSED: list[dict[str, object]] = [
    {"agent_network_modes": ["no-network"]},
    {"agent_network_modes": ["allowlist", "no-network"], "environment": {"network_mode": "public"}},
    {"environment": {"network_mode": "allowlist"}},
]
OPEN: list[dict[str, object]] = [
    {},
    {"environment": {}},
    {"agent_network_modes": ["public"], "environment": {"network_mode": "no-network"}},
    {"agent_network_modes": ["no-network", "public"]},
]


@pytest.mark.parametrize("definition", CLOSED)
def test_a_task_is_closed_when_its_agent_never_reaches_the_internet(definition: dict[str, object]) -> None:
    assert is_closed(definition)


@pytest.mark.parametrize("definition", OPEN)
def test_a_task_with_an_open_step_is_left_to_the_engine(definition: dict[str, object]) -> None:
    assert not is_closed(definition)


@pytest.mark.parametrize(
    ("agent", "given", "off"),
    [
        ("claude-code", {}, {"disallowed_tools": "WebSearch,WebFetch"}),
        ("claude-code", {"disallowed_tools": "Bash, WebFetch"}, {"disallowed_tools": "Bash,WebFetch,WebSearch"}),
        ("codex", {"version": "1", "web_search": "live"}, {"version": "1", "web_search": "disabled"}),
        ("gemini-cli", {}, {"disable_web_search": True}),
        ("nop", {}, {}),
        ("module:Agent", {"x": 1}, {"x": 1}),
    ],
)
def test_web_tools_are_switched_off_the_way_the_agent_has_it(
    agent: str, given: dict[str, object], off: dict[str, object]
) -> None:
    assert with_web_tools(agent, given, disabled=True) == off
    assert with_web_tools(agent, given, disabled=None, closed=True) == off
    assert with_web_tools(agent, given, disabled=None, closed=False) == given


def test_whoever_wants_web_tools_keeps_them_on_a_closed_task() -> None:
    kept = {"disable_web_search": False}
    assert with_web_tools("codex", {}, disabled=False, closed=True) == kept
    assert with_web_tools("codex", kept, disabled=None, closed=True) == kept
    assert with_web_tools("nop", {}, disabled=False) == {}


def test_a_list_that_cannot_be_added_to_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"disallowed_tools is \['Bash'\]"):
        with_web_tools("claude-code", {"disallowed_tools": ["Bash"]}, disabled=True)
