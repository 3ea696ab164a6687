"""Trials that run as far as the database knows, and what a worker would write of them."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx2

from oddish.client import Client
from oddish.client.live import News
from oddish.client.retry import RetryPolicy

from .serving import KEY, Server, TaskFolder

QUICK = RetryPolicy(base=0.01, cap=0.1, reconnects=10_000)


@dataclass
class Running:
    """A trial whose attempts a test begins, speaks for and ends."""

    server: Server
    trial_id: str
    epoch: int = 0
    seq: int = 0

    def begin(self) -> None:
        """A worker claims it, for the first time or again."""
        self.epoch, self.seq = self.epoch + 1, 0
        self.server.sql("UPDATE attempts SET state = 'lost' WHERE trial_id = %s", self.trial_id)
        self.server.sql(
            "INSERT INTO attempts (trial_id, epoch, org_id, job_id, claim_id, worker_id) "
            "SELECT subject_id, %s, org_id, id, gen_random_uuid(), 'w' FROM jobs WHERE subject_id = %s",
            self.epoch,
            self.trial_id,
        )
        self._job("state = 'ready', worker_id = NULL, run_at = NULL")
        self._job("state = 'running', worker_id = 'w', claim_id = gen_random_uuid(), started_at = now()")

    def says(self, *texts: str) -> None:
        self.writes("message", *(f'{{"text": "{text}"}}' for text in texts))

    def writes(self, kind: str, *payloads: str) -> None:
        """Append events and tell those who follow, in one transaction as a worker does."""
        with self.server.database.transaction():
            for payload in payloads:
                self.seq += 1
                self.server.sql(
                    "INSERT INTO trial_events (trial_id, attempt, seq, kind, payload) VALUES (%s, %s, %s, %s, %s)",
                    self.trial_id,
                    self.epoch,
                    self.seq,
                    kind,
                    payload,
                )
            self.server.sql("SELECT pg_notify('oddish_live', %s)", self.trial_id)

    def stage(self, stage: str) -> None:
        self.server.sql("UPDATE trials SET harbor_stage = %s WHERE id = %s", stage, self.trial_id)

    def spends(self, input_tokens: int, output_tokens: int, cost_usd: float | None) -> None:
        self.server.sql(
            "UPDATE attempts SET input_tokens = %s, output_tokens = %s, cost_usd = %s, cost_is_estimated = true "
            "WHERE trial_id = %s AND epoch = %s",
            input_tokens,
            output_tokens,
            cost_usd,
            self.trial_id,
            self.epoch,
        )

    def ends(self, state: str = "done") -> None:
        self.server.sql("UPDATE attempts SET state = 'finished' WHERE trial_id = %s", self.trial_id)
        self._job(f"state = '{state}', worker_id = NULL, finished_at = now()")

    def fails_for_now(self, error: str) -> None:
        """The attempt fails, and another one is due at noon of a day that does not come."""
        self.server.sql("UPDATE attempts SET state = 'finished' WHERE trial_id = %s", self.trial_id)
        with self.server.database.transaction():
            self.server.sql("UPDATE trials SET error_message = %s WHERE id = %s", error, self.trial_id)
            self._job("state = 'scheduled', worker_id = NULL, run_at = '2100-01-01T12:00Z'")

    def purged(self) -> None:
        self.server.sql("DELETE FROM trial_events WHERE trial_id = %s", self.trial_id)

    def _job(self, changes: str) -> None:
        self.server.sql(
            f"UPDATE jobs SET epoch = %s, attempt = %s, {changes} WHERE subject_id = %s",  # noqa: S608
            self.epoch,
            self.epoch,
            self.trial_id,
        )


@dataclass
class Follower:
    """Follows a trial with the client, in a thread; what it was told so far."""

    news: list[News] = field(default_factory=list)
    error: BaseException | None = None
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def texts(self) -> list[object]:
        return [entry["payload"]["text"] for entry in self.news if "kind" in entry]

    @property
    def attempts(self) -> list[int]:
        return list(dict.fromkeys(entry["attempt"] for entry in self.news))

    def run(self, url: str, trial_id: str) -> None:
        try:
            with Client(url, KEY, retry=QUICK) as client:
                for entry in client.live.follow(trial_id):
                    self.news.append(entry)
        except Exception as error:  # noqa: BLE001 - shown by the test that waits for it
            self.error = error
        finally:
            self.done.set()


@contextlib.contextmanager
def followed(url: str, trial_id: str) -> Iterator[Follower]:
    """Somebody who follows it at a server; the trial has to end within the block."""
    follower = Follower()
    thread = threading.Thread(target=follower.run, args=(url, trial_id), daemon=True)
    thread.start()
    yield follower
    assert follower.done.wait(60), "the follower was not told that the trial has ended"
    thread.join()


def running_trial(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> Running:
    """A trial of a published experiment that waits."""
    server.offer()
    task_id = str(new_task().upload(client)["task_id"])
    body = {"task_id": task_id, "configs": [{"agent": "nop", "n_trials": 1}], "experiment_id": "mine"}
    assert client.post("/tasks/sweep", json=body).status_code == 200
    return Running(server, f"{task_id}-0")
