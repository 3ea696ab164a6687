"""Reading trial directories: the recorded ones, and what a hostile one may hold."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oddish.engine import results
from oddish.engine.protocol import Done
from oddish.engine.results import (
    StepFacts,
    Timing,
    TrialFacts,
    Usage,
    agent_seconds,
    attempt_facts,
    read_trial,
    shortened,
)
from oddish.outcome import judge
from support.harbor_jobs import JOBS


def test_steps_keep_their_own_facts() -> None:
    facts = read_trial(JOBS / "10-two-steps/two-steps__juqB6zJ")
    assert facts.rewards == {"reward": 0.75, "lines": 4.0}
    assert [(step.name, step.rewards) for step in facts.steps] == [
        ("collect", {"reward": 1.0, "lines": 4.0}),
        ("sort", {"reward": 0.5, "lines": 4.0}),
    ]
    assert set(facts.steps[0].timing) == {"agent_execution", "verifier"}
    assert set(facts.timing) == {"environment_setup", "agent_setup"}


@pytest.mark.parametrize(
    ("trial", "phase"),
    [
        ("09-broken-build/broken-build__aAkx7gn", "environment_setup"),
        ("06-agent-timeout/timeout-after-work__JxJZwRu", "agent_execution"),
        ("12-cancelled-sigint/slow-count__MkEFAF7", "agent_execution"),
        ("15-agent-raises/hello-world__ygYm5mS", "agent_execution"),
        ("07-no-reward-file/verifier-no-reward__469nGdK", "verifier"),
    ],
)
def test_an_exception_is_placed_in_its_phase(trial: str, phase: str) -> None:
    assert read_trial(JOBS / trial).exceptions[0].phase == phase


def test_times_are_as_written() -> None:
    facts = read_trial(JOBS / "09-broken-build/broken-build__aAkx7gn")
    assert facts.started_at == "2026-11-29T13:13:34.572979Z"
    assert isinstance(facts.timing["environment_setup"], Timing)
    assert facts.timing["environment_setup"].finished_at is not None


def written(directory: Path, content: bytes) -> TrialFacts:
    (directory / "result.json").write_bytes(content)
    return read_trial(directory)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"null", b"[]", b"\xff\xfe", b'{"a": ' + b"9" * 5000 + b"}", b"[" * 200_000, b'"' + b"\x00" * 10],
)
def test_what_is_not_a_result_is_malformed(tmp_path: Path, content: bytes) -> None:
    assert written(tmp_path, content) == TrialFacts(problem="malformed")


def test_a_missing_directory_or_result_is_missing(tmp_path: Path) -> None:
    assert read_trial(tmp_path / "none").problem == "missing"
    assert read_trial(tmp_path).problem == "missing"


def test_a_huge_result_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULT_LIMIT", 100)
    assert written(tmp_path, b'{"task_name": "' + b"x" * 200 + b'"}').problem == "too_large"


def test_links_and_pipes_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"verifier_result": {"rewards": {"reward": 1}}}')
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "result.json").symlink_to(secret)
    pipe = tmp_path / "pipe"
    pipe.mkdir()
    os.mkfifo(pipe / "result.json")
    (tmp_path / "directory" / "result.json").mkdir(parents=True)
    (tmp_path / "alias").symlink_to(linked)
    for name in ("linked", "pipe", "directory", "alias"):
        assert read_trial(tmp_path / name) == TrialFacts(problem="refused")


def test_a_trajectory_behind_a_link_does_not_exist(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "trajectory.json").write_text("{}")
    trial = tmp_path / "trial"
    trial.mkdir()
    (trial / "agent").symlink_to(outside)
    steps = '{"step_results": [{"step_name": "../../outside"}, {"step_name": "a\\u0000"}, {"step_name": ""}, 7]}'
    assert not written(trial, steps.encode()).has_trajectory


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        ({"reward": 1}, {"reward": 1.0}),
        ({"reward": "1", "other": True, "third": None}, None),
        ({"reward": 1, "bad": [1]}, {"reward": 1.0}),
        ({"reward": 10**400}, None),
        ({}, None),
        ([1], None),
    ],
)
def test_only_finite_numbers_are_rewards(tmp_path: Path, rewards: object, expected: object) -> None:
    assert written(tmp_path, json.dumps({"verifier_result": {"rewards": rewards}}).encode()).rewards == expected


def test_infinite_rewards_are_none(tmp_path: Path) -> None:
    assert written(tmp_path, b'{"verifier_result": {"rewards": {"a": NaN, "b": Infinity, "c": 1e999}}}').rewards is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
RESULT_MEMBERS = (
    "verifier_result",
    "exception_info",
    "step_results",
    "agent_result",
    "config",
    "agent_setup",
    "reward_valid",
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=st.dictionaries(st.sampled_from(RESULT_MEMBERS), json_values))
def test_any_document_can_be_read_and_judged(tmp_path: Path, document: dict[str, Any]) -> None:
    facts = written(tmp_path, json.dumps(document).encode())
    judge(attempt_facts(facts, None, "done"))


def done(**members: Any) -> Done:
    return {"type": "done", "trial_dir": None, "cancelled": False, "failure": None, **members}  # type: ignore[typeddict-item]


def test_a_failure_outside_the_trial_joins_its_facts() -> None:
    failure = {"type": "AttemptDeadlineError", "message": "late", "phase": None, "occurred_at": None}
    facts = read_trial(JOBS / "12-cancelled-sigint/slow-count__MkEFAF7")
    joined = attempt_facts(facts, done(failure=failure), "done")
    assert [exception.type for exception in joined.exceptions] == ["AttemptDeadlineError"]
    outcome = judge(joined)
    assert (outcome.status, outcome.reasons, outcome.retry) == ("failed", ("deadline",), "never")


def test_an_attempt_that_ended_without_a_result_is_not_usable() -> None:
    outcome = judge(attempt_facts(None, done(), "done"))
    assert (outcome.status, outcome.reasons, outcome.retry) == ("failed", ("result_unreadable",), "backoff")


def test_a_cancelled_creation_is_cancelled() -> None:
    assert judge(attempt_facts(None, done(cancelled=True), "done")).status == "cancelled"


def test_long_messages_keep_both_ends() -> None:
    text = shortened("a" * 20_000 + "b" * 20_000)
    assert len(text) < results.MESSAGE_LIMIT + 10
    assert text.startswith("a")
    assert text.endswith("b")
    assert shortened("short") == "short"


@pytest.mark.parametrize("name", ["\ud800", "a\0b", "..", "", "a/../b"])
def test_a_step_whose_name_is_no_file_name_has_no_trajectory(tmp_path: Path, name: str) -> None:
    (tmp_path / "steps").mkdir()
    (tmp_path / "result.json").write_text(json.dumps({"step_results": [{"step_name": name}]}))
    facts = read_trial(tmp_path)
    assert [step.name for step in facts.steps] == [name]
    assert not facts.has_trajectory


def test_the_agents_time_is_that_of_its_phase_or_of_those_of_all_steps() -> None:
    def ran(start: str | None, end: str | None) -> dict[str, Timing]:
        return {"agent_execution": Timing(start, end)}

    def step(timing: dict[str, Timing]) -> StepFacts:
        return StepFacts("step", None, None, timing, Usage())

    minute = ran("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z")
    assert agent_seconds(TrialFacts(timing=minute)) == 60
    assert agent_seconds(TrialFacts(steps=(step(minute), step({}), step(minute)))) == 120
    unknown = ({}, ran("2026-01-01", None), ran("noon", "night"), ran("2026-01-02", "2026-01-01"))
    assert [agent_seconds(TrialFacts(timing=timing)) for timing in unknown] == [None] * 4
    assert agent_seconds(None) is None
