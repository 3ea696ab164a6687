"""Reading what verifiers leave besides the reward: the recorded files, and what a hostile verifier may write."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oddish.engine import evidence
from oddish.engine.environments.record import add_notes
from oddish.engine.evidence import (
    TrialEvidence,
    ctrf_summary,
    environment_notes,
    metrics,
    read_evidence,
    with_texts,
)
from support.harbor_jobs import JOBS

CSV_TOTALS = JOBS / "03-ctrf-metrics/csv-totals__MYkwxb5"


def test_a_result_holds_the_metrics_and_the_counts() -> None:
    assert read_evidence(CSV_TOTALS).result == {
        "schema_version": 1,
        "regions_expected": 4,
        "regions_correct": 4,
        "accuracy": 1.0,
        "output_bytes": 65,
        "latency_ms": 0.19,
        "_verifier": {
            "format": "ctrf",
            "tool": "pytest",
            "report_path": "verifier/ctrf.json",
            "tests": 7,
            "passed": 6,
            "failed": 0,
            "skipped": 1,
            "pending": 0,
            "other": 0,
        },
    }


def test_the_reserved_key_is_never_the_tasks_own() -> None:
    own = {"a": 1, "_verifier": {"passed": 99}}
    assert TrialEvidence(metrics=own).result == {"a": 1}
    assert TrialEvidence(metrics=own, tests={"passed": 1}).result == {"a": 1, "_verifier": {"passed": 1}}
    assert TrialEvidence(tests={"passed": 1}).result == {"_verifier": {"passed": 1}}
    assert TrialEvidence(metrics={}).result == {}
    assert TrialEvidence().result is None


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ([0], 0),
        ([0, 3, 4], 3),
        ([0, None], None),
        ([1, None], 1),
        (["1", True, 2.0], None),
        ([], "absent"),
        ({"0": 1}, "absent"),
    ],
)
def test_the_exit_code_is_the_first_that_is_no_success(tmp_path: Path, written: object, shown: object) -> None:
    (tmp_path / "verifier-exit.json").write_text(json.dumps({"exit_codes": written}))
    verifier = (read_evidence(tmp_path).result or {}).get("_verifier", {})
    assert verifier.get("exit_code", "absent") == shown


def test_the_exit_code_stands_beside_the_counts() -> None:
    shown = TrialEvidence(tests={"passed": 1}, exit_codes=(0,)).result
    assert shown == {"_verifier": {"passed": 1, "exit_code": 0}}


def test_where_the_environment_differs_is_part_of_the_result() -> None:
    own = {"a": 1, "_environment": "the task's own"}
    assert TrialEvidence(metrics=own).result == {"a": 1}
    assert TrialEvidence(metrics=own, notes=("other",)).result == {"a": 1, "_environment": {"notes": ["other"]}}


def test_notes_of_several_environments_are_gathered_and_those_of_a_hostile_hand_bounded(tmp_path: Path) -> None:
    assert environment_notes(tmp_path) == ()
    add_notes(tmp_path, ["both", "first"])
    add_notes(tmp_path, ["both", "second"])
    assert read_evidence(tmp_path).notes == ("both", "first", "second")
    (tmp_path / "environment.json").write_text(json.dumps({"notes": [1, None, *("x" * 600 for _ in range(60))]}))
    assert environment_notes(tmp_path) == ("x" * 500,) * 50
    (tmp_path / "environment.json").write_text('{"notes": {}}')
    assert environment_notes(tmp_path) == ()


def written(directory: Path, name: str, content: bytes, *, below: str = "verifier") -> Path:
    (directory / below).mkdir(parents=True, exist_ok=True)
    (directory / below / name).write_bytes(content)
    return directory


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"null", b"[]", b"7", b'"text"', b"\xff\xfe", b"[" * 60_000, b'{"a":' * 10_000),
        *(b'{"a": NaN}', b'{"a": [{"b": -Infinity}]}', b'{"a": 1e999}', b'{"a": 1' + b"0" * 400 + b"}"),
        *(b'{"a": 9' + b"9" * 5_000 + b"}", b'{"a":' + b"[" * 64 + b"]" * 64 + b"}"),
        b'{"a": "' + b"x" * evidence.METRICS_LIMIT + b'"}',
    ],
    ids=lambda content: repr(content[:24]),
)
def test_metrics_that_are_not_as_agreed_are_ignored(tmp_path: Path, content: bytes) -> None:
    assert metrics(written(tmp_path, "metrics.json", content)) is None


@pytest.mark.parametrize(
    "document", [{}, {"a": None, "b": True, "c": "text", "d": [1.5, {"e": -1}]}, {"a": 10**300, "": [[[]]]}]
)
def test_other_metrics_are_kept_as_they_are(tmp_path: Path, document: dict[str, Any]) -> None:
    assert metrics(written(tmp_path, "metrics.json", json.dumps(document).encode())) == document


def test_metrics_may_fill_their_limit(tmp_path: Path) -> None:
    padding = "x" * (evidence.METRICS_LIMIT - len('{"a": ""}'))
    assert metrics(written(tmp_path, "metrics.json", json.dumps({"a": padding}).encode())) == {"a": padding}


def test_the_last_step_speaks_for_the_trial(tmp_path: Path) -> None:
    for name, value in (("first", 1), ("last", 2)):
        written(tmp_path, "metrics.json", b'{"a": %d}' % value, below=f"steps/{name}/verifier")
        written(
            tmp_path, "ctrf.json", b'{"results": {"summary": {"tests": %d}}}' % value, below=f"steps/{name}/verifier"
        )
    assert metrics(tmp_path, ("first", "last")) == {"a": 2}
    summary = ctrf_summary(tmp_path, ("first", "last"))
    assert summary is not None
    assert (summary["tests"], summary["report_path"]) == (2, "steps/last/verifier/ctrf.json")
    assert read_evidence(tmp_path, ("last", "missing")) == TrialEvidence()


def summed_up(directory: Path, results: object) -> dict[str, Any] | None:
    return ctrf_summary(written(directory, "ctrf.json", json.dumps({"results": results}).encode()))


def test_a_report_without_a_summary_is_counted(tmp_path: Path) -> None:
    statuses = ["passed", "passed", "failed", "skipped", "pending", "other", "unheard of", None, ["failed"]]
    summary = summed_up(tmp_path, {"tests": [*({"status": status} for status in statuses), 7]})
    assert summary is not None
    assert [summary[name] for name in ("tests", *evidence.STATUSES)] == [10, 2, 1, 1, 1, 5]
    assert summary["tool"] is None


def test_what_a_summary_lacks_is_counted(tmp_path: Path) -> None:
    listed = [{"status": "passed"}, {"status": "failed"}]
    summary = summed_up(
        tmp_path, {"summary": {"tests": 2, "passed": -1, "failed": True, "other": 1.5}, "tests": listed}
    )
    assert summary is not None
    assert [summary[name] for name in ("tests", *evidence.STATUSES)] == [2, 1, 1, 0, 0, 0]


def test_a_summary_needs_no_list(tmp_path: Path) -> None:
    summary = summed_up(tmp_path, {"tool": {"name": "t" * 999}, "summary": {"tests": 3, "passed": 3}, "tests": []})
    assert summary is not None
    assert (summary["tests"], summary["passed"], summary["failed"]) == (3, 3, 0)
    assert summary["tool"] == "t" * evidence.TOOL_LENGTH


@pytest.mark.parametrize(
    "results",
    [*(None, [], {}, {"tests": {}}, {"summary": []}, {"summary": {"passed": 3}}), {"summary": {"tests": 2**40}}],
)
def test_a_report_without_a_number_of_tests_is_ignored(tmp_path: Path, results: object) -> None:
    assert summed_up(tmp_path, results) is None


def test_a_huge_report_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "CTRF_LIMIT", 100)
    assert summed_up(tmp_path, {"summary": {"tests": 1}}) is not None
    assert summed_up(tmp_path, {"summary": {"tests": 1}, "padding": "x" * 100}) is None


def test_links_and_pipes_are_refused(tmp_path: Path) -> None:
    outside = written(tmp_path / "outside", "metrics.json", b"{}")
    written(outside, "ctrf.json", b'{"results": {"tests": []}}')
    linked, behind = written(tmp_path / "linked", "other", b""), tmp_path / "behind"
    for name in ("metrics.json", "ctrf.json"):
        (linked / "verifier" / name).symlink_to(outside / "verifier" / name)
    behind.mkdir()
    (behind / "verifier").symlink_to(outside / "verifier")
    piped = written(tmp_path / "piped", "other", b"")
    os.mkfifo(piped / "verifier" / "metrics.json")
    (piped / "verifier" / "ctrf.json").mkdir()
    assert read_evidence(outside).result is not None
    for directory in (linked, behind, piped, tmp_path / "missing"):
        assert read_evidence(directory) == TrialEvidence()


@pytest.mark.parametrize("step", ["..", "../../outside", "", "/", "a\0b", "\ud800", "x" * 5_000])
def test_the_name_of_a_step_leads_nowhere_else(tmp_path: Path, step: str) -> None:
    written(tmp_path / "outside", "metrics.json", b"{}")
    trial = tmp_path / "trial"
    (trial / "steps").mkdir(parents=True)
    assert read_evidence(trial, (step,)) == TrialEvidence()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("passed"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["summary", "tests", "tool", "name", "status", "passed", "x"]), inner)
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(json_values, st.dictionaries(st.text(max_size=8) | st.just("_verifier"), json_values, max_size=3) | json_values)
def test_any_document_gives_a_result_that_json_can_hold(tmp_path: Path, results: object, own: object) -> None:
    written(tmp_path, "metrics.json", json.dumps(own).encode())
    summary = summed_up(tmp_path, results)
    result = read_evidence(tmp_path).result
    json.dumps(result, allow_nan=False)
    assert summary is None or result is not None
    assert (result or {}).get("_verifier") == summary


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(tmp_path: Path, content: bytes) -> None:
    for name in ("metrics.json", "ctrf.json"):
        written(tmp_path, name, content)
    read_evidence(tmp_path)


def test_every_text_is_changed() -> None:
    document = {"a": ["b", {"c": 1}], "d": ("e", None, True)}
    assert with_texts(document, str.upper) == {"A": ["B", {"C": 1}], "D": ["E", None, True]}
