"""What holds of every real agent at its script."""

from collections.abc import Callable, Sequence

import pytest

from support.agent_runs import AgentRun, spoken
from support.agent_scripts import REAL_AGENTS, SAYS, RealAgent


def solves_the_task(run: AgentRun) -> None:
    trial = run.trial
    assert (trial["status"], trial["reward"], trial["error_message"]) == ("success", 1.0, None)
    assert run.conversation.answered == len(run.conversation.script.turns)


def counts_what_its_model_reported(run: AgentRun) -> None:
    reported = run.conversation.reported
    counted = [run.trial[f"{kind}_tokens"] for kind in ("input", "cache", "cache_write", "output")]
    assert counted == [reported.input, reported.cached, reported.cache_write, reported.output]


def costs_what_its_model_costs(run: AgentRun) -> None:
    """Nothing, rather than none, where nobody knows the model's price."""
    agent, cost = run.agent, run.trial["cost_usd"]
    assert cost is None if agent.cost is None else cost == pytest.approx(agent.cost)
    assert run.trial["cost_is_estimated"] == (None if agent.cost is None else not agent.own_cost)


def is_seen_at_work(run: AgentRun) -> None:
    if not run.agent.live:
        assert run.seen is None
        return
    assert run.seen is not None, "nothing was seen of it before its model had said everything"
    assert not run.seen["done"]
    assert SAYS[0] in spoken(run.seen["events"])
    assert SAYS[1] not in spoken(run.seen["events"])
    usage = run.conversation.script.turns[0].usage
    if run.agent.live_usage:
        assert (run.seen["usage"]["input_tokens"], run.seen["usage"]["cache_tokens"]) == (usage.input, usage.cached)


def leaves_its_transcript(run: AgentRun) -> None:
    assert [text in spoken(run.told) for text in SAYS] == [True] * 3
    *events, state = run.told
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert state["usage"]["input_tokens"] == run.trial["input_tokens"]
    assert [event["payload"]["name"] for event in events if event["kind"] == "tool_use"] == run.agent.tools


CHECKS: Sequence[Callable[[AgentRun], None]] = (
    solves_the_task,
    counts_what_its_model_reported,
    costs_what_its_model_costs,
    is_seen_at_work,
    leaves_its_transcript,
)
each_agent = pytest.mark.parametrize(
    "agent",
    [
        pytest.param(agent, id=agent.name, marks=pytest.mark.skipif(bool(agent.missing), reason=str(agent.missing)))
        for agent in REAL_AGENTS
    ],
)
each_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)


def chosen(request: pytest.FixtureRequest) -> list[RealAgent]:
    """Those of which tests of this module were asked for, and which can run."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    agents = [item.callspec.params["agent"] for item in items if item.module is request.module]
    return list({agent.name: agent for agent in agents if not agent.missing}.values())
