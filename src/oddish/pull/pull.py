"""Trials and tasks of a server, copied into a folder: what is here already stays, the rest comes in parallel."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import datetime
from threading import Event

from oddish.client import Client
from oddish.client.types import UNFINISHED, Task, Trial
from oddish.documents import too_deep
from oddish.pull.folder import Folder
from oddish.pull.job import TrialRecord, job_config, job_result, record
from oddish.pull.manifest import Kind, Manifest, TaskReport, TrialReport
from oddish.pull.task import TaskPull
from oddish.pull.transfer import guarded
from oddish.pull.trial import MANIFEST, RECORDS, TRIALS, TrialPull, Wanted

TRIALS_AT_ONCE = 4
FILES_AT_ONCE = 8
MAX_RECORD_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class Target:
    """What was asked for, as it is at this moment."""

    kind: Kind
    id: str
    trials: Sequence[Trial]
    tasks: Sequence[tuple[Task, int | None]] = ()
    """Whose files are wanted, and of which version."""


class Pull:
    """Copies a target again and again; what has not changed since the last time is not asked for again."""

    def __init__(
        self,
        client: Client,
        folder: Folder,
        wanted: Wanted,
        tell: Callable[[TrialReport, int, int], None] = lambda report, done, total: None,
    ) -> None:
        """``tell`` hears of each trial that was looked at, how many these are and how many there will be."""
        self._client = client
        self._folder = folder
        self._wanted = wanted
        self._tell = tell
        self._trials: dict[str, tuple[object, TrialReport]] = {}
        self._tasks: dict[str, TaskReport] = {}
        self._records: dict[str, TrialRecord | None] = {}
        """By the names of the directories, None of those that are no trials."""
        self._unread: set[str] = set()
        """Directories that may have changed since."""

    def pull(self, target: Target, at: datetime) -> Manifest:
        """Raises what ends the whole pull: ``Unreachable``, ``NoRoom``, an ``ApiError`` for a refused key."""
        stop = Event()
        changed = [trial for trial in target.trials if self._trials.get(trial["id"], (None,))[0] != _state(trial)]
        self._unread |= {trial["id"] for trial in changed}
        with ThreadPoolExecutor(FILES_AT_ONCE) as transfers, ThreadPoolExecutor(TRIALS_AT_ONCE) as pool:
            trials = TrialPull(self._client, self._folder, self._wanted, transfers, stop)
            waiting = {pool.submit(trials.fetch, trial): trial for trial in changed}
            of_tasks = self._fetch_tasks(target, pool, stop)
            try:
                for done, future in enumerate(as_completed(waiting), start=1):
                    report = future.result()
                    self._tell(report, done, len(waiting))
                    self._add(waiting[future], report)
                self._tasks |= {task_id: task.result() for task_id, task in of_tasks.items()}
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                transfers.shutdown(wait=False, cancel_futures=True)
                raise
        if changed:
            with guarded(self._folder):
                self._describe_job(target)
        manifest = Manifest(
            target_type=target.kind,
            target_id=target.id,
            pulled_at=at.isoformat(),
            out=str(self._folder.path),
            trials=[self._trials[trial["id"]][1] for trial in target.trials],
            tasks=[self._tasks[task["id"]] for task, _ in target.tasks],
        )
        with guarded(self._folder):
            self._folder.write_json((MANIFEST,), manifest.document)
        if not manifest.errors:
            self._folder.forget_partial()
        return manifest

    def _add(self, trial: Trial, report: TrialReport) -> None:
        """What the whole pull did for a trial, over all times; one with errors is looked at again."""
        _, before = self._trials.get(trial["id"], (None, None))
        if before is not None:
            report.files_saved += before.files_saved
            report.bytes_saved += before.bytes_saved
        self._trials[trial["id"]] = (None if report.errors else _state(trial), report)

    def _fetch_tasks(self, target: Target, pool: Executor, stop: Event) -> dict[str, Future[TaskReport]]:
        tasks = TaskPull(self._client, self._folder, stop)
        found: dict[str, Future[TaskReport]] = {}
        for task, version in target.tasks:
            before = self._tasks.get(task["id"])
            if before is None or before.errors or before.version != (version or before.version):
                found[task["id"]] = pool.submit(tasks.fetch, task, version)
        return found

    def _describe_job(self, target: Target) -> None:
        """Make the directory of the trials a Harbor job of all that are in it."""
        for name in self._folder.names((TRIALS,)):
            if name in self._unread or name not in self._records:
                self._records[name] = self._record(name)
        self._unread.clear()
        records = [entry for _, entry in sorted(self._records.items()) if entry is not None]
        if not records:
            return
        ended = {entry.name for entry in records if entry.ended}
        missing = [trial for trial in target.trials if trial["id"] not in ended and trial["status"] in UNFINISHED]
        running = sum(trial["status"] == "running" for trial in missing)
        config = job_config(records, name=TRIALS, parent=str(self._folder.path.resolve()))
        result = job_result(records, identity=target.id, running=running, pending=len(missing) - running)
        for name, document in zip(RECORDS, (config, result), strict=True):
            self._folder.write_json((TRIALS, name), document)

    def _record(self, name: str) -> TrialRecord | None:
        config, result = (self._document(name, document) for document in RECORDS)
        return None if config is None and result is None else record(name, config, result)

    def _document(self, trial: str, name: str) -> object:
        data = self._folder.read((TRIALS, trial, name), MAX_RECORD_BYTES)
        try:
            document = None if data is None else json.loads(data)
        except (ValueError, RecursionError):
            return None
        return None if too_deep(document) else document


def _state(trial: Trial) -> object:
    """What changes when there may be other files of the trial."""
    return trial["status"], trial["attempts"], trial["finished_at"]
