"""Results directories are written strictly: nothing that a reader would complain of, each file whole or not at all."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oddish.errors import InvalidInput
from oddish.pull.folder import Folder
from oddish.pull.names import MAX_NAME_BYTES
from oddish.storable import storable
from oddish.viewer.aggregates import summary_document
from oddish.viewer.files import parse
from oddish.viewer.findings import Notes
from oddish.viewer.projects import Dataset, Project, dataset_document, project_document, read_dataset, read_project
from oddish.viewer.results import (
    DATASET,
    METRICS,
    NOTES_LIMIT,
    PROJECT,
    RUN,
    SUMMARY,
    SUMMARY_LIMIT,
    TRACE_LIMIT,
    dataset_path,
    id_flaw,
    run_path,
    trace_flaw,
)
from oddish.viewer.runs import Run, read_run, run_document
from oddish.viewer.steps import Step, Steps, step_document
from oddish.viewer.summaries import Summary, read_summary, tasks_document
from oddish.viewer.traces import Trace, read_trace, trace_document


class Writer:
    """Writes to the results directory ``folder``.

    Every method says whether the file changed, and raises ``InvalidInput`` for what breaks the contract.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def project(self, identity: str, project: Project) -> bool:
        if project.project_id != identity:
            raise InvalidInput(f"Project {identity!r} says that it is {project.project_id!r}.", fix="Use one id.")
        path = f"projects/{_checked(identity)}/{PROJECT}"
        return self._write(path, project_document(project), read_project, NOTES_LIMIT)

    def dataset(self, project: str, identity: str, dataset: Dataset) -> bool:
        path = f"{dataset_path(_checked(project), _checked(identity))}/{DATASET}"
        return self._write(path, dataset_document(dataset), read_dataset, NOTES_LIMIT)

    def summary(self, project: str, dataset: str, summary: Summary) -> bool:
        """The numbers in it are made of its tasks. Its traces should be there already."""
        path = f"{dataset_path(_checked(project), _checked(dataset))}/{SUMMARY}"
        named = [attempt.trace for cell in summary.cells for attempt in cell.attempts if attempt.trace is not None]
        for flaw in filter(None, map(trace_flaw, named)):
            raise InvalidInput(flaw, fix="Name a path from the directory of the dataset.")
        document = summary_document(summary, tasks_document(summary.tasks))
        return self._write(path, document, read_summary, SUMMARY_LIMIT)

    def trace(self, project: str, dataset: str, path: str, trace: Trace) -> bool:
        """``path`` is what the attempt names."""
        if (flaw := trace_flaw(path)) is not None:
            raise InvalidInput(flaw, fix="Name a path from the directory of the dataset.")
        place = dataset_path(_checked(project), _checked(dataset))
        return self._write(f"{place}/{path}", trace_document(trace), read_trace, TRACE_LIMIT)

    def run(self, project: str, identity: str, run: Run) -> bool:
        path = f"{run_path(_checked(project), _checked(identity))}/{RUN}"
        return self._write(path, run_document(run), read_run, NOTES_LIMIT)

    def metrics(self, project: str, run: str, steps: Iterable[Step]) -> bool:
        """All steps of a run. A program that goes on writes them line by line itself."""
        path = f"{run_path(_checked(project), _checked(run))}/{METRICS}"
        content = b"".join(_encoded(path, step_document(step)) + b"\n" for step in steps)
        notes = Notes()
        Steps().read(content, 1, notes)
        _refuse(path, notes)
        return self._folder.write(tuple(path.split("/")), content)

    def _write(
        self, path: str, document: Mapping[str, Any], read: Callable[[Mapping[str, Any], Notes], object], limit: int
    ) -> bool:
        content = _encoded(path, document) + b"\n"
        if len(content) > limit:
            raise InvalidInput(f"{path} has {len(content)} bytes, more than {limit}.", fix="Write less of it.")
        written, problem = parse(content)
        if problem is not None:
            raise InvalidInput(f"{path} {problem}", fix="Write less of it.")
        notes = Notes()
        read(written, notes)
        _refuse(path, notes)
        return self._folder.write(tuple(path.split("/")), content)


def _encoded(path: str, document: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(storable(document), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{path} cannot be written as JSON: {error}.", fix="Use finite numbers and texts."
        ) from error


def _refuse(path: str, notes: Notes) -> None:
    for finding in notes.findings:
        raise InvalidInput(f"{path}: {finding.place} {finding.found}", fix=finding.fix)


def _checked(identity: str) -> str:
    if (flaw := id_flaw(identity)) is not None:
        raise InvalidInput(flaw, fix="Choose another id.")
    if len(identity.encode()) > MAX_NAME_BYTES:
        raise InvalidInput(f"{identity!r} has more than {MAX_NAME_BYTES} bytes.", fix="Choose a shorter id.")
    return identity
