"""Figures from trajectories: the recorded ones, every version, and what an agent may write instead."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oddish.engine import trajectory
from oddish.engine.trajectory import TrajectoryMetrics, trajectory_metrics
from support.harbor_jobs import JOBS


def test_a_recorded_trajectory_in_full() -> None:
    assert trajectory_metrics(JOBS / "14a-terminus2-solved/greet-script__GDNaiHE") == TrajectoryMetrics(
        steps=6,
        steps_by_source={"system": 0, "user": 1, "agent": 5},
        tool_calls=7,
        tool_calls_by_name={"bash_command": 5, "mark_task_complete": 2},
        duration_sec=3.541038,
        models=("scripted-a",),
    )


def written(directory: Path, document: object, path: str = "agent/trajectory.json") -> TrajectoryMetrics | None:
    (directory / path).parent.mkdir(parents=True, exist_ok=True)
    (directory / path).write_text(json.dumps(document))
    return trajectory_metrics(directory)


def atif(*steps: object, version: object = "ATIF-v1.8", **members: object) -> dict[str, Any]:
    return {"schema_version": version, "agent": {"name": "a", "model_name": "default"}, "steps": steps, **members}


def agent(*tools: str, **members: object) -> dict[str, Any]:
    return {"source": "agent", "tool_calls": [{"function_name": tool} for tool in tools], **members}


@pytest.mark.parametrize("version", [f"ATIF-v1.{minor}" for minor in range(10)])
def test_every_version_1_is_read(tmp_path: Path, version: str) -> None:
    found = written(tmp_path, atif(agent("ls", "ls"), version=version))
    assert found is not None
    assert (found.steps, found.tool_calls_by_name) == (1, {"ls": 2})


@pytest.mark.parametrize("version", [None, 1.8, "ATIF-v2.0", "ATIF-v1", "ATIF-v1.8\n", "1.8", "xATIF-v1.8"])
def test_other_formats_are_not(tmp_path: Path, version: object) -> None:
    assert written(tmp_path, atif(agent("ls"), version=version)) is None


@pytest.mark.parametrize("document", [None, [], {}, {"schema_version": "ATIF-v1.8"}, atif() | {"steps": {}}])
def test_what_is_no_trajectory_is_none(tmp_path: Path, document: object) -> None:
    assert written(tmp_path, document) is None


def test_an_empty_trajectory_is_one(tmp_path: Path) -> None:
    sources = {"system": 0, "user": 0, "agent": 0}
    assert written(tmp_path, atif()) == TrajectoryMetrics(0, sources, 0, {}, None, ())


def test_what_is_no_step_or_call_does_not_count(tmp_path: Path) -> None:
    odd = {"source": ["agent"], "timestamp": 7, "tool_calls": [{"function_name": "ls"}]}
    found = written(tmp_path, atif(7, None, odd, agent(tool_calls={"a": 1}), agent(tool_calls=["ls", {}, agent()])))
    assert found is not None
    assert found.steps_by_source == {"system": 0, "user": 0, "agent": 2, "other": 1}
    assert (found.tool_calls, found.tool_calls_by_name) == (2, {})


def test_copied_context_does_not_count(tmp_path: Path) -> None:
    copied = agent("ls", is_copied_context=True, timestamp="2020-01-01T00:00:00Z", model_name="earlier")
    found = written(tmp_path, atif(copied, agent("cat", timestamp="2026-01-01T00:00:00Z", is_copied_context=False)))
    assert found is not None
    assert (found.steps, found.tool_calls_by_name) == (1, {"cat": 1})
    assert (found.duration_sec, found.models) == (0.0, ("default",))


def test_models_are_those_that_answered(tmp_path: Path) -> None:
    steps = [{"source": "user", "model_name": "nobody"}, agent(model_name="b"), agent(), agent(model_name="b")]
    found = written(tmp_path, atif(*steps))
    assert found is not None
    assert found.models == ("b", "default")


@pytest.mark.parametrize(
    ("timestamps", "seconds"),
    [
        (["2026-01-01T00:00:00Z", "2026-01-01T01:00:00.5+00:00"], 3600.5),
        (["2026-01-01T02:00:00+02:00", "2026-01-01T00:00:01"], 1.0),
        (["2026-01-01T00:00:09Z", "yesterday", None, "", "2026-01-01T00:00:01Z"], 8.0),
        (["2026-01-01T00:00:00Z"], 0.0),
        (["0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00Z"], 86_340.0),
        ([None, 7, "2026-13-01"], None),
    ],
)
def test_the_duration_spans_all_timestamps(tmp_path: Path, timestamps: list[object], seconds: float | None) -> None:
    found = written(tmp_path, atif(*({"source": "user", "timestamp": timestamp} for timestamp in timestamps)))
    assert found is not None
    assert found.duration_sec == seconds


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.datetimes(timezones=st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m))))))
def test_any_timestamps_can_be_compared(tmp_path: Path, moments: list[datetime]) -> None:
    found = written(tmp_path, atif(*({"timestamp": moment.isoformat()} for moment in moments)))
    assert found is not None
    assert found.duration_sec is None if not moments else found.duration_sec >= 0


def test_parts_that_continue_each_other_are_one(tmp_path: Path) -> None:
    second = atif(agent("a", is_copied_context=True), agent("b", timestamp="2026-01-01T00:01:00Z"))
    written(tmp_path, second | {"continued_trajectory_ref": "trajectory.json"}, "agent/trajectory.cont-1.json")
    first = atif(agent("a", timestamp="2026-01-01T00:00:00Z"), continued_trajectory_ref="trajectory.cont-1.json")
    found = written(tmp_path, first)
    assert found is not None
    assert (found.steps, found.tool_calls_by_name, found.duration_sec) == (2, {"a": 1, "b": 1}, 60.0)


@pytest.mark.parametrize("following", ["../other.json", "", "missing.json", "..", "a\0b", "\ud800", 7, None])
def test_a_continuation_leads_nowhere_else(tmp_path: Path, following: object) -> None:
    written(tmp_path, atif(agent("outside")), "other.json")
    found = written(tmp_path, atif(agent("ls"), continued_trajectory_ref=following))
    assert found is not None
    assert found.steps == 1


def test_the_number_of_parts_is_bounded(tmp_path: Path) -> None:
    for number in range(trajectory.MAX_PARTS + 5):
        written(tmp_path, atif(agent(), continued_trajectory_ref=f"{number + 1}"), f"agent/{number}")
    found = written(tmp_path, atif(agent(), continued_trajectory_ref="0"))
    assert found is not None
    assert found.steps == trajectory.MAX_PARTS


def test_the_steps_of_a_trial_add_up(tmp_path: Path) -> None:
    for name, minute in (("one", 1), ("two", 30)):
        times = [f"2026-01-01T00:{minute:02}:0{second}Z" for second in (0, 5)]
        path = f"steps/{name}/agent/trajectory.json"
        written(tmp_path, atif(*(agent("ls", timestamp=time, model_name=name) for time in times)), path)
    found = trajectory_metrics(tmp_path, ("one", "missing", "two", "one"))
    assert found is not None
    assert (found.steps, found.tool_calls, found.duration_sec, found.models) == (4, 4, 10.0, ("one", "two"))
    assert trajectory_metrics(tmp_path, ("missing", "\ud800")) is None


def test_names_are_bounded(tmp_path: Path) -> None:
    many = range(trajectory.MAX_NAMES + 50)
    found = written(tmp_path, atif(*(agent(f"{n}" * 300, f"{n}" * 300, model_name=f"m{n}" * 300) for n in many)))
    assert found is not None
    assert found.tool_calls == 2 * len(many)
    for names in (found.tool_calls_by_name, found.models):
        assert len(names) == trajectory.MAX_NAMES
        assert max(map(len, names)) == trajectory.NAME_LENGTH


def test_a_huge_trajectory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trajectory, "TRAJECTORY_LIMIT", 50)
    assert written(tmp_path, atif(agent("ls"))) is None


def test_a_trajectory_behind_a_link_does_not_exist(tmp_path: Path) -> None:
    written(tmp_path / "outside", atif(agent("ls")))
    (tmp_path / "trial").mkdir()
    (tmp_path / "trial" / "agent").symlink_to(tmp_path / "outside" / "agent")
    assert trajectory_metrics(tmp_path / "trial") is None


MEMBERS = ("source", "timestamp", "tool_calls", "function_name", "model_name", "is_copied_context", "steps", "agent")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["agent", "user"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
    max_leaves=16,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(json_values, max_size=4), st.dictionaries(st.sampled_from(MEMBERS), json_values, max_size=3))
def test_any_document_can_be_read(tmp_path: Path, steps: list[object], members: dict[str, Any]) -> None:
    found = written(tmp_path, atif(*steps) | members)
    if found is not None:
        assert found.steps == sum(found.steps_by_source.values())
        assert found.tool_calls >= sum(found.tool_calls_by_name.values())
