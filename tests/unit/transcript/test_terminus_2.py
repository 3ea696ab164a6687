"""Terminus 2: trajectories as Harbor wrote them, and as it rewrites them while it runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from oddish.transcript import Event, Usage, adapter, settled
from support.agent_logs import figures
from support.harbor_jobs import JOBS

TRIALS = sorted(JOBS.glob("14*/*/agent/trajectory.json"))
SOLVED = json.loads(next(path for path in TRIALS if "14a" in str(path)).read_text())


def written(document: object) -> bytes:
    return json.dumps(document, indent=2).encode()


@pytest.mark.parametrize("trajectory", TRIALS, ids=lambda path: path.parts[-3])
def test_usage_is_what_harbor_recorded(trajectory: Path) -> None:
    recorded = json.loads((trajectory.parents[1] / "result.json").read_text())["agent_result"]
    usage = settled("terminus-2", [trajectory.parent])
    assert usage is not None
    assert figures(usage) == {
        "input": recorded["n_input_tokens"],
        "cached": recorded["n_cache_tokens"],
        "cache_write": 0,
        "output": recorded["n_output_tokens"],
    }
    assert usage.cost_usd == (None if recorded["cost_usd"] is None else pytest.approx(recorded["cost_usd"]))


def test_each_rewriting_adds_its_new_steps_and_half_a_file_adds_nothing() -> None:
    whole = adapter("terminus-2").feed("trajectory.json", written(SOLVED))
    reader, found, used = adapter("terminus-2"), list[Event](), Usage()
    for count in range(1, len(SOLVED["steps"]) + 1):
        content = written(SOLVED | {"steps": SOLVED["steps"][:count]})
        assert reader.feed("trajectory.json", content[: len(content) // 2]) == []
        found += reader.feed("trajectory.json", content)
        assert reader.usage.not_below(used) == reader.usage
        used = reader.usage
    assert found == whole
    assert {event.kind for event in whole} == {"message", "tool_use", "tool_result"}


def step(number: int, message: str, prompt_tokens: int, **members: Any) -> dict[str, Any]:
    metrics = {"prompt_tokens": prompt_tokens, "completion_tokens": 1}
    return {"step_id": number, "source": "agent", "message": message, "metrics": metrics, **members}


def texts(events: list[Event]) -> list[str]:
    return [event.payload["text"] for event in events]


def test_another_run_in_the_same_file_adds_up() -> None:
    reader = adapter("terminus-2")
    first, second = [step(1, "one", 10), step(2, "two", 20)], [step(1, "three", 5, timestamp="later")]
    assert texts(reader.feed("trajectory.json", written({"steps": first}))) == ["one", "two"]
    assert reader.feed("trajectory.json", written({"steps": first})) == []
    assert texts(reader.feed("trajectory.json", written({"steps": second}))) == ["three"]
    assert reader.usage.input_tokens == 35


def test_summaries_and_continuations_count_and_what_they_copy_does_not() -> None:
    reader = adapter("terminus-2")
    copied = step(1, "one", 10, is_copied_context=True)
    reader.feed("trajectory.json", written({"steps": [step(1, "one", 10)]}))
    summary = reader.feed("trajectory.summarization-1-summary.json", written({"steps": [copied, step(2, "sum", 7)]}))
    assert [event.payload for event in summary] == [{"text": "sum", "subagent": True}]
    handoff = {"step_id": 2, "source": "system", "message": "Performed context summarization."}
    continued = reader.feed("trajectory.cont-1.json", written({"steps": [copied, handoff, step(3, "three", 4)]}))
    assert [(event.kind, event.payload["text"]) for event in continued] == [
        ("summary", "Performed context summarization."),
        ("message", "three"),
    ]
    assert reader.usage.input_tokens == 21


def test_final_figures_above_those_of_the_steps_hold() -> None:
    reader = adapter("terminus-2")
    final = {"total_prompt_tokens": 50, "total_completion_tokens": 5, "total_cost_usd": 0.25}
    agent = {"model_name": "openai/scripted-a"}
    reader.feed("trajectory.json", written({"agent": agent, "steps": [step(1, "one", 10)], "final_metrics": final}))
    assert (reader.usage.input_tokens, reader.usage.cost_usd, reader.model) == (50, 0.25, "openai/scripted-a")
