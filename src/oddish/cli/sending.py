"""Uploading tasks and submitting for them side by side: one upload for each, and batches of submissions."""

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from oddish.client import Client
from oddish.client.errors import ApiError, Unreachable
from oddish.client.retry import RetryPolicy
from oddish.client.types import Submitted, SweepRequest, UploadedVersion
from oddish.errors import InvalidInput, OddishError

BATCH_VARIABLE = "ODDISH_SWEEP_BATCH_MAX_TASKS"
BATCH = 10
LARGEST_BATCH = 100
THREADS = 16
NO_BATCHES = (404, 405)
"""What servers answer that take submissions one by one only."""
FOR_ALL = (401, 403, 507)
"""Refusals that every other task would meet as well."""
BUDGET_EXCEEDED = "budget_exceeded"
"""The code of one that is of no task, but of the run."""


class Unclear(OddishError):
    """Trials were asked for, and what came back does not tell whether they exist."""

    code = "unclear"
    status = 503


class Shown(Protocol):
    """Is told how far it is, from any thread."""

    def uploaded(self) -> None: ...

    def submitted(self, task: Submitted) -> None: ...


class Unseen:
    """Nobody looks."""

    def uploaded(self) -> None:
        """Not shown."""

    def submitted(self, task: Submitted) -> None:
        """Not shown."""


@dataclass(frozen=True)
class Sizes:
    threads: int
    batch: int
    """Submissions that are sent as one."""

    @classmethod
    def of(cls, concurrency: int | None) -> "Sizes":
        """Raises ``InvalidInput`` for a variable that is no such number."""
        given = os.environ.get(BATCH_VARIABLE, "").strip() or str(BATCH)
        if not (given.isdecimal() and 1 <= int(given) <= LARGEST_BATCH):
            raise InvalidInput(
                f"{BATCH_VARIABLE} is {given!r}, not a number from 1 to {LARGEST_BATCH}.", fix="Correct it or unset it."
            )
        return cls(concurrency or THREADS, int(given))


@dataclass(frozen=True)
class Steps:
    """What is done for each task."""

    upload: Callable[[Path], UploadedVersion]
    request: Callable[[Path, UploadedVersion], SweepRequest]
    accepted: Callable[[UploadedVersion, Submitted], None]


@dataclass(frozen=True)
class Part:
    task: Path
    version: UploadedVersion


class Sending:
    """What was sent, and what came of it by task. Also whole after an interruption."""

    def __init__(self, client: Client, steps: Steps, shown: Shown) -> None:
        self.done: dict[Path, Submitted] = {}
        self.refused: dict[Path, OddishError] = {}
        self.left: list[Path] = []
        """Not tried, because what refused another one would refuse these."""
        self._client = client
        self._steps = steps
        self._shown = shown
        self._takes_batches = True
        self._hopeless = False
        self._lock = threading.Lock()

    def first(self, task: Path) -> None:
        """Send one task alone. Raises what it is refused for."""
        part = self._upload(task)
        if part is not None:
            self._submit([part])
        if task in self.refused:
            raise self.refused.pop(task)

    def others(self, tasks: Sequence[Path], sizes: Sizes) -> None:
        """Send the others; a refusal of one leaves the rest."""
        waiting, ready = deque(tasks), deque[Part]()
        uploads: set[Future[Part | None]] = set()
        batches: set[Future[None]] = set()
        pool = ThreadPoolExecutor(sizes.threads, thread_name_prefix="submit")
        try:
            while uploads or batches or ((waiting or ready) and not self._hopeless):
                if not self._hopeless:
                    while len(ready) >= sizes.batch or (ready and not (waiting or uploads)):
                        batch = [ready.popleft() for _ in range(min(sizes.batch, len(ready)))]
                        batches.add(pool.submit(self._submit, batch))
                    while waiting and len(uploads) + len(batches) < sizes.threads:
                        uploads.add(pool.submit(self._upload, waiting.popleft()))
                under_way: list[Future[Any]] = [*uploads, *batches]
                ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
                ready.extend(part for upload in uploads & ended if (part := upload.result()) is not None)
                for batch_ended in batches & ended:
                    batch_ended.result()
                uploads -= ended
                batches -= ended
        finally:
            pool.shutdown(cancel_futures=True)
        self.left = [*(part.task for part in ready), *waiting]

    def _upload(self, task: Path) -> Part | None:
        try:
            version = self._steps.upload(task)
        except OddishError as error:
            self._refuse(task, error)
            return None
        self._shown.uploaded()
        return Part(task, version)

    def _submit(self, parts: Sequence[Part]) -> None:
        answers = self._ask([self._steps.request(part.task, part.version) for part in parts])
        for part, answer in zip(parts, answers, strict=True):
            if isinstance(answer, OddishError):
                self._refuse(part.task, answer)
            else:
                with self._lock:
                    self.done[part.task] = answer
                self._shown.submitted(answer)
                self._steps.accepted(part.version, answer)

    def _ask(self, requests: Sequence[SweepRequest]) -> Sequence[Submitted | OddishError]:
        if len(requests) == 1 or not self._takes_batches:
            return [self._ask_singly(request) for request in requests]
        try:
            answers = self._client.sweep_batch(requests)
        except OddishError as error:
            if isinstance(error, ApiError) and error.http_status in NO_BATCHES:
                self._takes_batches = False
                return [self._ask_singly(request) for request in requests]
            return [self._understood(error)] * len(requests)
        return [
            self._ask_singly(request) if _passing(answer) else answer
            for request, answer in zip(requests, answers, strict=True)
        ]

    def _ask_singly(self, request: SweepRequest) -> Submitted | OddishError:
        try:
            return self._client.sweep(request)
        except OddishError as error:
            return self._understood(error)

    def _understood(self, error: OddishError) -> OddishError:
        self._note(error)
        return understood(error)

    def _refuse(self, task: Path, error: OddishError) -> None:
        self._note(error)
        with self._lock:
            self.refused[task] = error

    def _note(self, error: OddishError) -> None:
        refused = isinstance(error, ApiError) and (error.http_status in FOR_ALL or is_overspent(error))
        if refused or isinstance(error, Unreachable):
            self._hopeless = True


def is_overspent(error: OddishError) -> bool:
    """Whether a submission was refused because its run has reached its cost limit."""
    return isinstance(error, ApiError) and error.problem_code == BUDGET_EXCEEDED


def understood(error: OddishError) -> OddishError:
    """``error`` of a submission; ``Unclear`` without an answer, or with that of something before the server."""
    if isinstance(error, ApiError) and (
        error.http_status < 500 or (error.http_status == 503 and "code" in error.problem)
    ):
        return error
    return Unclear(f"{error.message} It is not known whether trials were started.")


def _passing(answer: Submitted | ApiError) -> bool:
    """Whether a submission of a batch met trouble that is over in a moment."""
    return isinstance(answer, ApiError) and RetryPolicy.worth_repeating(answer.http_status)
