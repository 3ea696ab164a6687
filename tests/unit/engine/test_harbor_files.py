"""Reward files, trajectories and test reports as Harbor and the verifiers write them, and what comes close."""

import codecs
import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from harbor.models.trajectories import (
    Agent,
    FinalMetrics,
    Metrics,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
)
from harbor.models.verifier.result import VerifierResult
from harbor.verifier.verifier import Verifier
from hypothesis import given
from hypothesis import strategies as st

from oddish import documents
from oddish.engine import trajectory
from oddish.engine.evidence import read_evidence
from oddish.engine.rewards import reward_files
from oddish.engine.trajectory import trajectory_metrics
from support.harbor_documents import costs, in_a_directory, names, times, tokens, with_members, words, written


def harbors(parse: Callable[[Any], Any], directory: Path) -> Any:
    """What Harbor's verifier makes of a reward file, None when it refuses it."""
    paths = SimpleNamespace(
        reward_text_path=directory / "verifier/reward.txt", reward_json_path=directory / "verifier/reward.json"
    )
    try:
        return VerifierResult(rewards=parse(SimpleNamespace(trial_paths=paths))).rewards
    except Exception:  # noqa: BLE001  its kinds of refusal are many
        return None


reward_values = st.floats() | st.integers(-(2**53), 2**53) | st.booleans() | words | st.none() | st.just([1])


@in_a_directory
@given(st.dictionaries(names, reward_values, max_size=2) | reward_values)
def test_a_reward_object_reads_as_in_harbor(tmp_path: Path, document: object) -> None:
    rewards, problem = reward_files(written(tmp_path, json.dumps(document), "verifier/reward.json"))
    assert rewards == harbors(Verifier._parse_reward_json, tmp_path)
    assert (problem is None) is (rewards is not None)


@in_a_directory
@given(
    st.floats().map(repr) | st.integers().map(str) | words | st.sampled_from([" 1\n", "1_0", "1e999", "١", "0x1", ""])
)
def test_a_reward_text_reads_as_in_harbor(tmp_path: Path, content: str) -> None:
    rewards, problem = reward_files(written(tmp_path, content, "verifier/reward.txt"))
    assert rewards == harbors(Verifier._parse_reward_text, tmp_path)
    assert (problem is None) is (rewards is not None)


@pytest.mark.parametrize(
    "content", [codecs.BOM_UTF8 + b'{"a": 1}', '{"a": 1}'.encode("utf-16"), b"\xff", b"[" * 5_000, b'{"a": 1}\0']
)
def test_a_reward_file_in_another_encoding_is_refused_as_in_harbor(tmp_path: Path, content: bytes) -> None:
    for name in ("reward.json", "reward.txt"):
        directory = written(tmp_path / name, content, f"verifier/{name}")
        assert reward_files(directory) == (None, "malformed")
    assert harbors(Verifier._parse_reward_json, tmp_path / "reward.json") is None


def test_an_object_goes_before_a_number(tmp_path: Path) -> None:
    assert reward_files(tmp_path) == (None, "missing")
    written(tmp_path, "0.5", "verifier/reward.txt")
    assert reward_files(tmp_path) == ({"reward": 0.5}, None)
    written(tmp_path, '{"reward": 1, "style": 0.25}', "verifier/reward.json")
    assert reward_files(tmp_path) == ({"reward": 1.0, "style": 0.25}, None)
    written(tmp_path, "{", "verifier/reward.json")
    assert reward_files(tmp_path) == (None, "malformed")


def test_a_reward_file_beyond_its_limit_is_not_read(tmp_path: Path) -> None:
    written(tmp_path, b" " * 2**20 + b"1", "verifier/reward.txt")
    assert reward_files(tmp_path) == (None, "too_large")


VERSIONS = [f"ATIF-v1.{minor}" for minor in range(9)]
metrics = st.none() | st.builds(
    Metrics, prompt_tokens=tokens, completion_tokens=tokens, cached_tokens=tokens, cost_usd=costs
)
tool_calls = st.builds(
    ToolCall,
    tool_call_id=names,
    function_name=st.sampled_from(["bash", "edit", "done"]) | names,
    arguments=st.dictionaries(names, words, max_size=2),
)
stamps = st.none() | times.map(datetime.isoformat) | times.map(lambda at: at.strftime("%Y-%m-%dT%H:%M:%SZ"))
copied = st.none() | st.booleans()
agent_steps = st.builds(
    lambda calls, **members: Step(
        **members,
        tool_calls=calls,
        observation=Observation(
            results=[ObservationResult(source_call_id=call.tool_call_id, content="ok") for call in calls or []]
        ),
    ),
    st.none() | st.lists(tool_calls, max_size=3),
    step_id=st.just(1),
    source=st.just("agent"),
    message=words,
    timestamp=stamps,
    model_name=st.none() | names,
    metrics=metrics,
    is_copied_context=copied,
)
other_steps = st.builds(
    Step,
    step_id=st.just(1),
    source=st.sampled_from(["user", "system"]),
    message=words,
    timestamp=stamps,
    is_copied_context=copied,
)


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    steps = draw(st.lists(agent_steps | other_steps, min_size=1, max_size=6))
    for number, step in enumerate(steps, start=1):
        step.step_id = number
    agent = Agent(name=draw(names), version=draw(words), model_name=draw(st.none() | names))
    inner = Trajectory(agent=agent, steps=steps, trajectory_id="inner")
    return Trajectory(
        schema_version=draw(st.sampled_from(VERSIONS)),
        agent=agent,
        steps=steps,
        final_metrics=draw(st.none() | st.builds(FinalMetrics, total_prompt_tokens=tokens)),
        subagent_trajectories=draw(st.sampled_from([None, [inner]])),
    )


@in_a_directory
@given(trajectories(), st.booleans(), st.none() | names)
def test_a_trajectory_reads_as_harbor_wrote_it(
    tmp_path: Path, theirs: Trajectory, exclude_none: bool, unheard: str | None
) -> None:
    document = theirs.to_json_dict(exclude_none=exclude_none)
    if unheard is not None:
        document = with_members(document, "x-" + unheard)
    written(tmp_path, json.dumps(document, ensure_ascii=False), "agent/trajectory.json")
    found = trajectory_metrics(tmp_path)
    assert found is not None
    own = [step for step in theirs.steps if not step.is_copied_context]
    answered = [step for step in own if step.source == "agent"]
    assert found.steps == len(own)
    assert found.steps_by_source == {
        source: sum(step.source == source for step in own) for source in ("system", "user", "agent")
    }
    calls = Counter(call.function_name for step in answered for call in step.tool_calls or [])
    assert (found.tool_calls, found.tool_calls_by_name) == (calls.total(), dict(calls))
    models = [step.model_name or theirs.agent.model_name for step in answered]
    assert found.models == tuple(dict.fromkeys(model for model in models if model))
    at = [datetime.fromisoformat(step.timestamp) for step in own if step.timestamp]
    assert found.duration_sec == (pytest.approx((max(at) - min(at)).total_seconds()) if at else None)


def test_a_dense_trajectory_is_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = b'{"schema_version": "ATIF-v1.8", "steps": [%s{}]}' % (b"{}," * 100)
    written(tmp_path, document, "agent/trajectory.json")
    found = trajectory_metrics(tmp_path)
    assert found is not None
    assert found.steps == 101
    monkeypatch.setattr(documents, "MAX_CONTAINERS", 100)
    assert trajectory_metrics(tmp_path) is None
    assert trajectory.TRAJECTORY_LIMIT < 2**26


STATUSES = ["passed", "failed", "skipped", "pending", "other"]
reports = st.lists(st.sampled_from(STATUSES), max_size=8).map(
    lambda statuses: {
        "reportFormat": "CTRF",
        "specVersion": "0.0.0",
        "reportId": "id",
        "results": {
            "tool": {"name": "pytest", "version": "9"},
            "summary": {"tests": len(statuses), **{name: statuses.count(name) for name in STATUSES}}
            | {"start": 1, "stop": 2, "flaky": 0, "suites": 1, "duration": 1},
            "tests": [
                {"name": f"t{number}", "status": status, "duration": 1, "suite": ["a"], "flaky": False, "extra": {}}
                for number, status in enumerate(statuses)
            ],
            "environment": {"extra": {}},
        },
    }
)


@in_a_directory
@given(reports, st.sampled_from(["whole", "no format", "no summary", "no tests", "empty summary", "unknown members"]))
def test_a_report_counts_the_same_in_every_shape(tmp_path: Path, report: dict[str, Any], shape: str) -> None:
    results = report["results"]
    counts = {name: results["summary"][name] for name in ("tests", *STATUSES)}
    if shape == "no format":
        report = {"results": results}
    elif shape == "unknown members":
        report = with_members(report, "later")
    elif shape == "empty summary":
        report = {"results": results | {"summary": {}}}
    elif shape != "whole":
        report = {"results": {name: item for name, item in results.items() if name != shape.removeprefix("no ")}}
    evidence = read_evidence(written(tmp_path, json.dumps(report), "verifier/ctrf.json"))
    assert evidence.tests is not None
    assert {name: evidence.tests[name] for name in counts} == counts
    assert evidence.reported_tests == counts["tests"]


def test_every_step_must_have_a_report_to_vouch_for_the_trial(tmp_path: Path) -> None:
    for step, tests in (("one", 3), ("two", 2)):
        written(tmp_path, json.dumps({"results": {"summary": {"tests": tests}}}), f"steps/{step}/verifier/ctrf.json")
    assert read_evidence(tmp_path, ("one", "two")).reported_tests == 2
    assert read_evidence(tmp_path, ("one", "bare", "two")).reported_tests is None
