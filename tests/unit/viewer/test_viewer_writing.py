"""What is written is read back the same and without a word; what would not be is refused."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from oddish.errors import InvalidInput
from oddish.pull.folder import Folder
from oddish.viewer.checking import check
from oddish.viewer.findings import Notes
from oddish.viewer.projects import Dataset, Project, Support, read_project
from oddish.viewer.results import Results
from oddish.viewer.runs import Run
from oddish.viewer.steps import Step
from oddish.viewer.summaries import Attempt, Cell, Summary, Task, read_summary
from oddish.viewer.traces import Message, Trace, read_trace
from oddish.viewer.writing import Writer
from support.results import PROJECT, STEP, TRACE, TRACE_DOCUMENT, cell, dataset

NOTHING = Notes()
PROJECT_READ = read_project(PROJECT, NOTHING)
SUMMARY_READ = read_summary(dataset({"a|x": cell([0.0, 1.0]), "b|x": cell([None])}, k_max=2), NOTHING)
TRACE_READ = read_trace(TRACE_DOCUMENT, NOTHING)
STEPS = tuple(Step(**STEP | {"step": step}, extra={}) for step in (1, 2))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def writer(root: Path) -> Iterator[Writer]:
    with Folder(root) as folder:
        yield Writer(folder)


def everything(writer: Writer) -> list[bool]:
    return [
        writer.project("data-agent", PROJECT_READ),
        writer.dataset("data-agent", "d", Dataset("Label", "Notes")),
        writer.trace("data-agent", "d", TRACE, TRACE_READ),
        writer.summary("data-agent", "d", SUMMARY_READ),
        writer.run("data-agent", "r", Run("Label")),
        writer.metrics("data-agent", "r", STEPS),
    ]


def test_what_is_written_is_read_back(root: Path, writer: Writer) -> None:
    assert all(everything(writer))
    results = Results(root)
    summary = results.summary("data-agent", "d").value
    metrics = results.metrics("data-agent", "r").value
    assert summary is not None
    assert metrics is not None
    assert results.project("data-agent").value == PROJECT_READ
    assert results.dataset("data-agent", "d").value == Dataset("Label", "Notes")
    assert results.trace("data-agent", "d", TRACE).value == TRACE_READ
    assert summary.tasks == SUMMARY_READ.tasks
    assert results.run("data-agent", "r").value == Run("Label")
    assert tuple(metrics.steps) == STEPS
    assert check(root).findings == ()


def test_what_is_there_already_is_not_written_again(writer: Writer) -> None:
    everything(writer)
    assert not any(everything(writer))


def one(attempt: Attempt, *, harness: str = "x", passed_at: int | None = None) -> Summary:
    """With one attempt at one task."""
    found = Cell("a", harness, passed_at, (attempt,))
    return Summary(1, ("a",), (harness,) if harness else (), (Task("t", (found,)),))


@pytest.mark.parametrize(
    "write",
    [
        lambda writer: writer.project("another", PROJECT_READ),
        lambda writer: writer.project("p", Project("p", support={"h": Support("experimental")})),
        lambda writer: writer.project("p", Project("p", extra={"n": float("nan")})),
        lambda writer: writer.dataset("../p", "d", Dataset()),
        lambda writer: writer.dataset("p", ".d", Dataset()),
        lambda writer: writer.dataset("p", "d" * 300, Dataset()),
        lambda writer: writer.trace("p", "d", "../t.json", TRACE_READ),
        lambda writer: writer.trace("p", "d", "t.json", Trace(reward=float("inf"))),
        lambda writer: writer.trace("p", "d", "t.json", Trace(messages=(Message("user", "x" * 2**26),))),
        lambda writer: writer.summary("p", "d", one(Attempt(1, float("nan")))),
        lambda writer: writer.summary("p", "d", one(Attempt(1, 0.0), passed_at=1)),
        lambda writer: writer.summary("p", "d", one(Attempt(0, 0.0))),
        lambda writer: writer.summary("p", "d", one(Attempt(2, 0.0))),
        lambda writer: writer.summary("p", "d", one(Attempt(1, 0.0), harness="")),
        lambda writer: writer.summary("p", "d", one(Attempt(1, 0.0, trace="/t.json"))),
        lambda writer: writer.summary("p", "d", replace(SUMMARY_READ, models=())),
        lambda writer: writer.metrics("p", "r", [STEPS[0]._replace(step=None)]),
    ],
)
def test_what_breaks_the_contract_is_refused(root: Path, writer: Writer, write: Callable[[Writer], bool]) -> None:
    with pytest.raises(InvalidInput):
        write(writer)
    assert not list(root.iterdir())
