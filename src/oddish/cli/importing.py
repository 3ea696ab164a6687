"""Sending trials that were run elsewhere: in archives of some trials each, some at a time, in bounded memory."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from oddish.cli.jobs import JobTrial, Unusable
from oddish.cli.targets import Target, Targets
from oddish.client import Client
from oddish.client.archive import EXPIRED
from oddish.client.errors import ApiError, NotPacked
from oddish.client.imports import ImportBatch, ImportedTrial, ImportItem
from oddish.client.trialarchive import TrialFiles, trial_files, write_trials
from oddish.client.types import ExperimentRef
from oddish.errors import OddishError

CONCURRENCY = 3
MOST_TRIALS = 50
"""Of one archive, like the bytes and files of their directories, unless a single trial has more."""
MOST_BYTES = 32 * 1024 * 1024
MOST_FILES = 4_000


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one trial."""

    job: str
    name: str
    status: str
    """``imported``, ``existing``, ``skipped`` or ``error``."""
    trial_id: str | None = None
    files: int = 0
    trial_status: str | None = None
    reward: float | None = None
    error: str | None = None

    @classmethod
    def not_sent(cls, trial: Unusable) -> "Imported":
        return cls(trial.job, trial.name, "skipped" if trial.unfinished else "error", error=trial.reason)

    @classmethod
    def refused(cls, trial: JobTrial, reason: str) -> "Imported":
        return cls(trial.job, trial.name, "error", error=reason)

    @classmethod
    def of(cls, trial: JobTrial, answer: ImportedTrial) -> "Imported":
        problem = answer["error"]
        reason = None if problem is None else " ".join(filter(None, (problem.get("detail"), problem.get("fix"))))
        return cls(
            trial.job,
            trial.name,
            answer["status"],
            answer["trial_id"],
            answer["files_extracted"],
            answer["trial_status"],
            answer["reward"],
            reason,
        )


@dataclass(frozen=True)
class Packing:
    """A trial with the files that travel, and the task it belongs to."""

    trial: JobTrial
    files: TrialFiles
    target: Target

    def item(self) -> ImportItem:
        item: ImportItem = {
            "task_id": self.target.task_id,
            "external_trial_id": self.trial.external_id,
            "job_name": self.trial.job[:255],
        }
        if self.target.version is not None:
            item["task_version"] = self.target.version
        return item


@dataclass(frozen=True)
class Importer:
    """Sends trials to an experiment, by id or name, that is made when it is new."""

    client: Client
    experiment: str
    targets: Targets
    user: str | None = None
    records_only: bool = False
    left_out: Callable[[int], None] = lambda count: None
    """Told of links and special files that do not travel."""
    announced: Callable[[ExperimentRef], None] = lambda experiment: None
    """Told, from any thread, which experiment it is."""

    def run(self, trials: Iterable[JobTrial]) -> Iterator[Sequence[Imported]]:
        """What became of the trials, as it is known. Raises what keeps anything further from being sent."""
        waiting = self._batches(trials)
        pool = ThreadPoolExecutor(CONCURRENCY, thread_name_prefix="import")
        under_way: set[Future[Sequence[Imported]]] = set()
        try:
            while True:
                while len(under_way) < CONCURRENCY and (batch := next(waiting, None)) is not None:
                    if isinstance(batch, Imported):
                        yield [batch]
                    else:
                        under_way.add(pool.submit(self._send, batch))
                if not under_way:
                    return
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _batches(self, trials: Iterable[JobTrial]) -> Iterator[Sequence[Packing] | Imported]:
        """Some trials that go into one archive, or one that cannot be read."""
        batch: list[Packing] = []
        size = files = 0
        for trial in trials:
            try:
                found = trial_files(trial.directory, records_only=self.records_only)
            except OSError as error:
                yield Imported.refused(trial, f"its directory cannot be read: {error.strerror or error}")
                continue
            self.left_out(found.left_out)
            full = len(batch) == MOST_TRIALS or size + found.size > MOST_BYTES or files + len(found.files) > MOST_FILES
            if batch and full:
                yield batch
                batch, size, files = [], 0, 0
            batch.append(Packing(trial, found, self.targets[trial.task]))
            size, files = size + found.size, files + len(found.files)
        if batch:
            yield batch

    def _send(self, batch: Sequence[Packing]) -> Sequence[Imported]:
        """Where the whole is refused, its halves are sent, so that what is refused in the end is single trials."""
        try:
            answers = self._deliver(batch)
        except (ApiError, NotPacked) as error:
            if not _is_about_content(error):
                raise
            if len(batch) == 1:
                return [Imported.refused(batch[0].trial, str(error))]
            half = len(batch) // 2
            return [*self._send(batch[:half]), *self._send(batch[half:])]
        of_id = {answer["external_trial_id"]: answer for answer in answers}
        return [Imported.of(packing.trial, of_id[packing.trial.external_id]) for packing in batch]

    def _deliver(self, batch: Sequence[Packing]) -> Sequence[ImportedTrial]:
        items = list({packing.trial.external_id: packing.item() for packing in batch}.values())
        announced = self.client.imports.begin(self.experiment, items, user=self.user)
        self.announced({"id": announced["experiment_id"], "name": announced["experiment_name"]})
        if announced["upload_url"] is None:
            return [_known(announced, item) for item in items]
        known = {entry["external_trial_id"] for entry in announced["known"]}
        of_id = {packing.trial.external_id: packing.files for packing in batch}
        ids = [item["external_trial_id"] for item in items]
        with tempfile.TemporaryFile() as archive:
            write_trials({place: of_id[one] for place, one in enumerate(ids) if one not in known}, archive)
            try:
                self.client.imports.send(announced, archive)
            except ApiError as error:
                if error.problem_code != EXPIRED:
                    raise
                announced = self.client.imports.begin(self.experiment, items, user=self.user)
                self.client.imports.send(announced, archive)
        return self.client.imports.complete(announced, items)["trials"]


def _known(announced: ImportBatch, item: ImportItem) -> ImportedTrial:
    found = next(entry for entry in announced["known"] if entry["external_trial_id"] == item["external_trial_id"])
    return {
        "external_trial_id": found["external_trial_id"],
        "status": "existing",
        "trial_id": found["trial_id"],
        "task_id": found["task_id"],
        "files_extracted": 0,
        "trial_status": None,
        "reward": None,
        "error": None,
    }


def _is_about_content(error: OddishError) -> bool:
    """Whether another archive may fare better; else the server, the key or the experiment is at fault."""
    if isinstance(error, ApiError):
        return error.http_status == 413 or error.problem_code in ("invalid_archive", "validation")
    return isinstance(error, NotPacked)
