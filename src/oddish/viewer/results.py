"""A results directory: projects, their datasets and training runs, found by the files that are there.

``DIRECTORY/projects/<project>/project.json``, ``datasets/<dataset>/summary.json`` and ``runs/<run>/run.json`` below it.
Ids are names of directories; those that begin with a dot, and links, are none.
"""

import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from oddish import regular
from oddish.documents import is_file, open_below
from oddish.viewer.files import Files, Reading
from oddish.viewer.findings import Finding
from oddish.viewer.metrics import Metrics, MetricsFile
from oddish.viewer.parsing import STANDARD, Parser
from oddish.viewer.projects import Dataset, Project, read_dataset, read_project
from oddish.viewer.runs import Run, read_run
from oddish.viewer.summaries import Summary, read_summary
from oddish.viewer.tracefiles import OpenTrace, TraceFiles
from oddish.viewer.traces import Trace, read_trace

MIB = 1024 * 1024
NOTES_LIMIT, SUMMARY_LIMIT, TRACE_LIMIT = MIB, 64 * MIB, 64 * MIB
MOST_ENTRIES = 10_000
"""Projects, or datasets or runs of one project."""
KEPT_METRICS = 16
"""Runs of which the steps are remembered."""
PROJECT, DATASET, SUMMARY, RUN, METRICS = (
    "project.json",
    "dataset.json",
    "summary.json",
    "run.json",
    "train/metrics.jsonl",
)


@dataclass(frozen=True, slots=True)
class Listing:
    """Ids, sorted, and what is wrong with those that are none."""

    ids: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


class Results:
    """The directory at ``path``, read anew at each call as far as files have changed. Safe to share between threads."""

    def __init__(self, path: Path, parser: Parser = STANDARD) -> None:
        self._parser = parser
        self._files = Files(path.resolve(), parser.parse)
        self._traces = TraceFiles(path.resolve())
        self._listed: dict[str, frozenset[str]] = {}
        self._metrics: OrderedDict[str, MetricsFile] = OrderedDict()
        self._lock = Lock()

    def projects(self) -> Listing:
        return self._list("projects", PROJECT)

    def datasets(self, project: str) -> Listing:
        return self._list(f"projects/{project}/datasets", SUMMARY)

    def runs(self, project: str) -> Listing:
        return self._list(f"projects/{project}/runs", RUN)

    def has_project(self, project: str) -> bool:
        return self._has("projects", project, PROJECT)

    def has_dataset(self, project: str, dataset: str) -> bool:
        return self._has(f"projects/{project}/datasets", dataset, SUMMARY)

    def has_run(self, project: str, run: str) -> bool:
        return self._has(f"projects/{project}/runs", run, RUN)

    def project(self, project: str) -> Reading[Project]:
        return self._files.read(f"projects/{project}/{PROJECT}", NOTES_LIMIT, read_project)

    def dataset(self, project: str, dataset: str) -> Reading[Dataset]:
        """Label and notes, which need not be there."""
        path = f"{dataset_path(project, dataset)}/{DATASET}"
        reading = self._files.read(path, NOTES_LIMIT, read_dataset)
        if reading.value is None and not self._is_there(path):
            return Reading(Dataset())
        return reading

    def summary_bytes(self, project: str, dataset: str) -> int | None:
        """How large the summary is, and so how long it takes to read. None for one that cannot be read."""
        try:
            descriptor = open_below(self._files.root, f"{dataset_path(project, dataset)}/{SUMMARY}")
        except OSError:
            return None
        try:
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)

    def summary(self, project: str, dataset: str) -> Reading[Summary]:
        return self._files.read(f"{dataset_path(project, dataset)}/{SUMMARY}", SUMMARY_LIMIT, read_summary)

    def trace(self, project: str, dataset: str, trace: str) -> Reading[Trace]:
        """``trace`` is the path that an attempt names."""
        place = dataset_path(project, dataset)
        if (flaw := trace_flaw(trace)) is not None:
            return Reading(None, (_named_trace(place, flaw),))
        return self._files.read(f"{place}/{trace}", TRACE_LIMIT, read_trace)

    @contextmanager
    def open_trace(self, project: str, dataset: str, trace: str) -> Iterator[Reading[OpenTrace]]:
        """The same for traces of any length, of which only some messages are looked at, while the context lasts."""
        place = dataset_path(project, dataset)
        if (flaw := trace_flaw(trace)) is not None:
            yield Reading(None, (_named_trace(place, flaw),))
            return
        with self._traces.open(f"{place}/{trace}", TRACE_LIMIT) as reading:
            yield reading

    def run(self, project: str, run: str) -> Reading[Run]:
        return self._files.read(f"{run_path(project, run)}/{RUN}", NOTES_LIMIT, read_run)

    def metrics(self, project: str, run: str) -> Reading[Metrics]:
        """The steps so far. A file that has grown is read from where it ended."""
        path = f"{run_path(project, run)}/{METRICS}"
        with self._lock:
            file = self._metrics.setdefault(path, MetricsFile(self._files.root, path, self._parser))
            self._metrics.move_to_end(path)
            if len(self._metrics) > KEPT_METRICS:
                self._metrics.popitem(last=False)
        return file.read()

    def _has(self, place: str, name: str, mark: str) -> bool:
        """Whether ``_list`` lists it, mostly without looking at all the others."""
        if id_flaw(name) is not None:
            return False
        return self._is_there(f"{place}/{name}/{mark}") or name in self._list(place, mark).ids

    def _list(self, place: str, mark: str) -> Listing:
        """Directories in which ``mark`` is, or was while the directory is there."""
        try:
            names = regular.folders_below(self._files.root, place)
        except FileNotFoundError:
            names = []
        except OSError as error:
            return Listing((), (Finding("error", place, f"cannot be read: {error.strerror}."),))
        known = self._listed.get(place, frozenset())
        for gone in known.difference(names):
            self._files.forget(f"{place}/{gone}")
        findings: list[Finding] = []
        ids: list[str] = []
        for name in names:
            if name.startswith("."):
                continue
            path = f"{place}/{name}"
            if (flaw := id_flaw(name)) is not None:
                findings.append(Finding("warning", place, f"{flaw} It is left out."))
            elif len(ids) >= MOST_ENTRIES:
                findings.append(
                    Finding("warning", place, f"has more than {MOST_ENTRIES} entries; the others are left out.")
                )
                break
            elif self._is_there(f"{path}/{mark}") or name in known:
                ids.append(name)
            else:
                findings.append(Finding("warning", path, f"is not shown: it has no file {mark}."))
        self._listed[place] = frozenset(ids)
        return Listing(tuple(ids), tuple(findings))

    def _is_there(self, path: str) -> bool:
        return is_file(self._files.root, path)


def _named_trace(place: str, flaw: str) -> Finding:
    return Finding("error", place, flaw, "Name a path from the directory of the dataset.")


def dataset_path(project: str, dataset: str) -> str:
    return f"projects/{project}/datasets/{dataset}"


def run_path(project: str, run: str) -> str:
    return f"projects/{project}/runs/{run}"


def id_flaw(identity: str) -> str | None:
    """Why a text cannot be the id of a project, a dataset or a run."""
    if not identity or identity.startswith(".") or not identity.isprintable() or set(identity) & {"/", "\\"}:
        return f"{identity!r} cannot be an id: it is the name of a directory, without a dot at its beginning."
    return None


def trace_flaw(trace: str) -> str | None:
    """Why a path that an attempt names cannot be one of a trace."""
    if not trace or not trace.isprintable() or "\\" in trace:
        return f"Trace {trace!r} is no path."
    if trace.startswith("/") or ".." in trace.split("/"):
        return f"Trace {trace!r} leads out of the dataset."
    parts = [part for part in trace.split("/") if part not in ("", ".")]
    if (normal := "/".join(parts)) != trace:
        return f"Trace {trace!r} is not in its normal form" + (f", which is {normal!r}." if normal else ".")
    return None
