"""Users of the deployment: they submit, ask again when an answer was lost, and cancel, all of it over HTTP."""

import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from psycopg import OperationalError

from chaos.facts import ENDED, Promise
from chaos.workload import WORKS, Work
from oddish import Client
from oddish.client.errors import ApiError
from oddish.client.retry import RetryPolicy
from oddish.client.types import SweepRequest
from oddish.errors import OddishError
from support.fleet import KEY

MOST_OPEN = 6
"""Trials of one user that have not ended; it submits no more while there are so many."""
ATTEMPTS = 3
"""Executions of a trial that are charged to it."""
ONCE_MORE = 0.25
"""How often a submission that was answered is sent again with its key."""
CANCELLED = 0.12
RETRY = RetryPolicy(attempts=2, reconnects=2, base=0.2, cap=1.0)


@dataclass
class Submission:
    experiment: str
    work: str
    asked: int
    answers: list[tuple[str, ...]] = field(default_factory=list)


@dataclass
class Ledger:
    """What users asked for and what they were told."""

    submissions: list[Submission] = field(default_factory=list)
    cancels: list[str] = field(default_factory=list)
    """Trials of which a client was told that they are cancelled."""
    refusals: Counter[str] = field(default_factory=Counter)
    """Calls that had to be sent again, by what came instead of an answer."""

    def promises(self) -> list[Promise]:
        return [promise for entry in self.submissions for promise in _promises(entry)]


def _promises(entry: Submission) -> list[Promise]:
    """One for each different answer: there should be one."""
    answers: Sequence[tuple[str, ...] | None] = list(dict.fromkeys(entry.answers)) or [None]
    return [Promise(entry.experiment, entry.work, entry.asked, answer) for answer in answers]


class User:
    """Acts until told to stop, in a thread of its own; then sees to it that everything it began can end."""

    def __init__(
        self,
        name: str,
        urls: Sequence[str],
        ledger: Ledger,
        tasks: Mapping[str, str],
        environments: Sequence[str],
        statuses: Callable[[Sequence[str]], Mapping[str, str]],
        rng: random.Random,
    ) -> None:
        """``tasks``: id by name of the work; ``statuses``: of trials, asked by a way that has no faults."""
        self._name = name
        self._clients = [Client(url, KEY, timeout=8.0, retry=RETRY) for url in urls]
        self._ledger = ledger
        self._tasks = tasks
        self._environments = environments
        self._statuses = statuses
        self._rng = rng
        self._open: dict[str, tuple[Work, float]] = {}
        self._submitted = 0
        self._leaving = threading.Event()
        self.patience_ends = float("inf")
        """When it gives up on a call that is never answered, by the monotonic clock."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self, patience: float) -> None:
        """Ask for nothing more, and wait until every call was answered and what is endless was cancelled."""
        self.patience_ends = time.monotonic() + patience
        self._leaving.set()
        if self._thread.is_alive():
            self._thread.join(patience + 30)

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def submit(self, work: Work, count: int, environment: str = "local") -> Submission:
        self._submitted += 1
        entry = Submission(f"{self._name}-{self._submitted}", work.name, count)
        self._ledger.submissions.append(entry)
        request: SweepRequest = {
            "task_id": self._tasks[work.name],
            "experiment_id": entry.experiment,
            "max_trial_attempts": ATTEMPTS,
            "configs": [{"agent": work.agent, "model": None, "n_trials": count, "environment": environment}],
        }
        key = secrets.token_hex(16)
        sending = 1 + (self._rng.random() < ONCE_MORE)
        for _ in range(sending):
            answer = self._insist(lambda client: client.sweep(request, idempotency_key=key))
            if answer is not None:
                entry.answers.append(tuple(sorted(answer["new_trial_ids"])))
        for trial_id in entry.answers[-1] if entry.answers else ():
            self._open[trial_id] = (work, time.monotonic() + self._rng.uniform(1, 8))
        return entry

    def _run(self) -> None:
        while not self._leaving.wait(self._rng.uniform(0.2, 1.2)):
            self._look()
            if len(self._open) < MOST_OPEN:
                work = self._rng.choices(list(WORKS.values()), [work.share for work in WORKS.values()])[0]
                self.submit(work, self._rng.randint(1, 3), self._rng.choice(self._environments))
            self._cancel_some(CANCELLED)
        while self._open and time.monotonic() < self.patience_ends:
            self._look()
            self._cancel_some(0.0)
            time.sleep(0.3)

    def _look(self) -> None:
        with suppress(OperationalError):
            for trial_id, status in self._statuses(list(self._open)).items():
                if status in ENDED:
                    self._open.pop(trial_id, None)

    def _cancel_some(self, share: float) -> None:
        """What is endless once its time has come, and now and then something else."""
        for trial_id, (work, due) in list(self._open.items()):
            wanted = time.monotonic() > due if work.endless else self._rng.random() < share / len(self._open)
            if wanted and trial_id not in self._ledger.cancels:
                self.cancel(trial_id)

    def cancel(self, trial_id: str) -> None:
        answer = self._insist(lambda client: client.cancel(trial_ids=[trial_id]))
        if answer is not None and answer["trials_cancelled"]:
            self._ledger.cancels.append(trial_id)

    def _insist[Answer](self, call: Callable[[Client], Answer]) -> Answer | None:
        """Ask one server after the other until one answers; None when that takes too long."""
        while True:
            try:
                return call(self._rng.choice(self._clients))
            except OddishError as error:
                self._ledger.refusals[_what(error)] += 1
            if time.monotonic() > self.patience_ends:
                return None
            time.sleep(self._rng.uniform(0.1, 0.6))


def _what(error: OddishError) -> str:
    return f"{error.http_status} {error.problem_code}" if isinstance(error, ApiError) else type(error).__name__


def upload(client: Client, directory: Path, tag: str) -> dict[str, str]:
    """The tasks of all works; id by name of the work."""
    return {name: client.upload(work.write(directory, tag))["task_id"] for name, work in WORKS.items()}
