"""What a trial left besides the reward: metrics, test report and notes on the environment. No Harbor here.

Written next to untrusted code, so nothing found here raises: what is not as agreed is as good as absent.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oddish.documents import finite_number, mapping, read_object, sequence, text
from oddish.engine.trajectory import TrajectoryMetrics, trajectory_metrics

METRICS_LIMIT = 64 * 1024
METRICS_DEPTH = 64
"""Objects and lists within each other, at most."""
CTRF_LIMIT = 8 * 1024 * 1024
COUNT_LIMIT = 2**31 - 1
TOOL_LENGTH = 200
RESERVED = "_verifier"
"""The key of a trial's result that holds the test report's summary and, where it was observed, the test script's
``exit_code``, whatever a task writes there."""
ENVIRONMENT = "_environment"
"""The key that holds where the environment differed from the task's container: ``{"notes": [...]}``."""
ENVIRONMENT_FILE = "environment.json"
EXIT_CODES_FILE = "verifier-exit.json"
EXIT_CODES_LIMIT = 64 * 1024
NOTES_LIMIT = 64 * 1024
NOTES = 50
NOTE_LENGTH = 500
STATUSES = ("passed", "failed", "skipped", "pending", "other")


@dataclass(frozen=True, slots=True)
class TrialEvidence:
    """What a trial directory holds besides Harbor's own record."""

    metrics: Mapping[str, Any] | None = None
    tests: Mapping[str, Any] | None = None
    """As ``ctrf_summary`` gives it."""
    reported_tests: int | None = None
    """The fewest tests that a step's report accounts for; None when a step has none. Without steps, the trial's."""
    exit_codes: Sequence[int | None] = ()
    """Of the test script, in the order of its runs, where they were observed; None for one that did not end."""
    trajectory: TrajectoryMetrics | None = None
    notes: Sequence[str] = ()
    """Where the environment differed from the container that the task was written for."""

    @property
    def result(self) -> dict[str, Any] | None:
        """The ``result`` of the trial: its metrics, with what is known besides under the reserved keys."""
        verifier = dict(self.tests or {})
        if self.exit_codes:
            verifier["exit_code"] = next((code for code in self.exit_codes if code != 0), 0)
        known = {RESERVED: verifier} if verifier else {}
        if self.notes:
            known[ENVIRONMENT] = {"notes": list(self.notes)}
        if self.metrics is None and not known:
            return None
        own = {name: value for name, value in (self.metrics or {}).items() if name not in (RESERVED, ENVIRONMENT)}
        return own | known


def read_evidence(directory: Path, steps: Sequence[str] = ()) -> TrialEvidence:
    """The evidence in a trial directory, whatever state it is in. ``steps`` names those of a multi-step trial."""
    summaries = [ctrf_summary(directory, [name]) for name in steps] or [ctrf_summary(directory)]
    return TrialEvidence(
        metrics=metrics(directory, steps),
        tests=summaries[-1],
        reported_tests=None if None in summaries else min(summary["tests"] for summary in summaries if summary),
        exit_codes=verifier_exit_codes(directory),
        trajectory=trajectory_metrics(directory, steps),
        notes=environment_notes(directory),
    )


def environment_notes(directory: Path) -> tuple[str, ...]:
    """The notes in ``environment.json``, which an environment writes beside the trial's own record."""
    document, _ = read_object(directory, ENVIRONMENT_FILE, NOTES_LIMIT)
    notes = [note[:NOTE_LENGTH] for note in sequence(document.get("notes")) if isinstance(note, str)]
    return tuple(notes[:NOTES])


def verifier_exit_codes(directory: Path) -> tuple[int | None, ...]:
    """What the runs of the test script exited with, as far as it was observed; None for one that did not end."""
    document, _ = read_object(directory, EXIT_CODES_FILE, EXIT_CODES_LIMIT)
    return tuple(code if type(code) is int else None for code in sequence(document.get("exit_codes")))


def metrics(directory: Path, steps: Sequence[str] = ()) -> dict[str, Any] | None:
    """The object in ``verifier/metrics.json``, of the last step if there are steps.

    None unless it is a JSON object of at most ``METRICS_LIMIT`` bytes and ``METRICS_DEPTH`` levels with numbers that a
    float can hold.
    """
    document, problem = read_object(directory, _report_path("metrics.json", steps), METRICS_LIMIT)
    return document if problem is None and _is_sound(document, METRICS_DEPTH) else None


def ctrf_summary(directory: Path, steps: Sequence[str] = ()) -> dict[str, Any] | None:
    """The counts of the CTRF report in ``verifier/ctrf.json``, of the last step if there are steps.

    ``{format, tests, passed, failed, skipped, pending, other, report_path, tool}``. The counts are those of the
    report's summary; without a summary, or for what it lacks, those of the listed tests. None for a file of more than
    ``CTRF_LIMIT`` bytes and for one that states no number of tests.
    """
    path = _report_path("ctrf.json", steps)
    document, _ = read_object(directory, path, CTRF_LIMIT)
    results = mapping(document.get("results"))
    summary, listed = mapping(results.get("summary")), results.get("tests")
    counted = _counted(listed) if isinstance(listed, list) else {}
    counts = {name: _count(summary.get(name), counted.get(name)) for name in ("tests", *STATUSES)}
    if counts["tests"] is None:
        return None
    tool = text(mapping(results.get("tool")).get("name"))
    return {
        "format": "ctrf",
        **{name: count or 0 for name, count in counts.items()},
        "report_path": path,
        "tool": tool if tool is None else tool[:TOOL_LENGTH],
    }


def with_texts[T](document: T, change: Callable[[str], str]) -> T:
    """``document``, plain JSON, with every string changed, keys included."""

    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, dict):
            return {change(name): changed(item) for name, item in value.items()}
        return [changed(item) for item in value] if isinstance(value, list | tuple) else value

    result: T = changed(document)
    return result


def _report_path(name: str, steps: Sequence[str]) -> str:
    return f"steps/{steps[-1]}/verifier/{name}" if steps else f"verifier/{name}"


def _is_sound(value: object, depth: int) -> bool:
    if isinstance(value, int | float):
        return isinstance(value, bool) or finite_number(value) is not None
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_is_sound(item, depth - 1) for item in inner)
    return True


def _count(value: object, otherwise: int | None) -> int | None:
    return value if type(value) is int and 0 <= value <= COUNT_LIMIT else otherwise


def _counted(listed: Sequence[object]) -> dict[str, int]:
    counts = dict.fromkeys(("tests", *STATUSES), 0) | {"tests": len(listed)}
    for test in listed:
        status = mapping(test).get("status")
        counts[status if status in STATUSES else "other"] += 1
    return counts
