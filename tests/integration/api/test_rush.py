"""Many callers at once about the same trials: submissions, retries and deletions leave one consistent set."""

import random
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from .serving import Server, TaskFolder

pytestmark = pytest.mark.usefixtures("quiet_logs")

CALLERS = 20
WANTED = 5
ROUNDS = 2

# What must never be: a trial that waits without a job or with two, or a job of one that is over or was deleted; a trial
# that was replaced while it had not ended; numbers that are given twice or left out; counters that are off.
BROKEN = """
SELECT 'jobs', t.id FROM trials t LEFT JOIN jobs j
  ON j.subject_id = t.id AND j.state IN ('held', 'ready', 'scheduled', 'running')
GROUP BY t.id HAVING count(j.id) <> CASE WHEN t.status IN ('queued', 'running', 'retrying') THEN 1 ELSE 0 END
UNION ALL SELECT 'deleted', t.id FROM trials t JOIN jobs j ON j.subject_id = t.id
WHERE t.deleted_at IS NOT NULL AND j.finished_at IS NULL AND NOT (j.state = 'running' AND j.cancel_requested)
UNION ALL SELECT 'replaced', id FROM trials WHERE superseded_by_trial_id IS NOT NULL AND status = 'queued'
UNION ALL SELECT 'numbers', k.id FROM tasks k JOIN trials t ON t.task_id = k.id
GROUP BY k.id HAVING k.next_trial_index <> count(t.id) OR max(t.trial_index) + 1 <> count(t.id)
UNION ALL SELECT 'in a deleted experiment', t.id FROM trials t JOIN experiments e ON e.id = t.experiment_id
WHERE e.deleted_at IS NOT NULL AND t.deleted_at IS NULL
UNION ALL SELECT 'of a deleted task', t.id FROM trials t JOIN tasks k ON k.id = t.task_id
WHERE k.deleted_at IS NOT NULL AND t.deleted_at IS NULL
UNION ALL SELECT 'counter', key FROM queue_keys k
WHERE running <> (SELECT count(*) FROM jobs j WHERE j.key = k.key AND j.state = 'running')
"""
LIVE = "SELECT id FROM trials WHERE deleted_at IS NULL AND superseded_by_trial_id IS NULL AND status <> 'failed'"


@pytest.fixture
def task_id(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> str:
    server.offer()
    return str(new_task().upload(client)["task_id"])


def at_once(server: Server, calls: list[Callable[[httpx2.Client], httpx2.Response]]) -> list[httpx2.Response]:
    """The answers to calls that start together, each from a client of its own."""
    barrier = threading.Barrier(len(calls))
    clients = [server.client() for _ in calls]

    def start(index: int) -> httpx2.Response:
        barrier.wait()
        return calls[index](clients[index])

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(start, range(len(calls))))


def submission(task_id: str) -> Callable[[httpx2.Client], httpx2.Response]:
    body = {"task_id": task_id, "configs": [{"agent": "nop", "n_trials": WANTED}], "experiment_id": "rush"}
    return lambda client: client.post("/tasks/sweep", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})


def post(path: str, body: dict[str, object]) -> Callable[[httpx2.Client], httpx2.Response]:
    return lambda client: client.post(path, json=body, headers={"Idempotency-Key": uuid.uuid4().hex})


def delete(path: str) -> Callable[[httpx2.Client], httpx2.Response]:
    return lambda client: client.delete(path)


def test_twenty_identical_submissions_at_once_make_one_set(server: Server, task_id: str) -> None:
    answers = at_once(server, [submission(task_id)] * CALLERS)
    assert [answer.status_code for answer in answers] == [200] * CALLERS
    created = [trial_id for answer in answers for trial_id in answer.json()["new_trial_ids"]]
    assert sorted(created) == [f"{task_id}-{index}" for index in range(WANTED)]
    assert {answer.json()["experiment_id"] for answer in answers} == {answers[0].json()["experiment_id"]}
    assert server.sql("SELECT count(*) FROM trials") == [(WANTED,)]
    assert server.sql(BROKEN) == []


def test_submissions_retries_and_deletions_at_once_leave_one_consistent_set(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    rng = random.Random(7)
    for _ in range(ROUNDS):
        assert submission(task_id)(client).status_code == 200
        live = [str(name) for (name,) in server.sql(LIVE)]
        failed = live[:3]
        server.sql("UPDATE jobs SET state = 'failed', finished_at = now() WHERE subject_id = ANY (%s)", failed)
        calls = [
            *[submission(task_id)] * 8,
            *[post("/trials/retry", {"experiment_id": "rush"})] * 3,
            *(post(f"/trials/{name}/retry", {}) for name in failed),
            *(delete(f"/trials/{name}") for name in (failed[0], *live[-2:])),
            *[post("/tasks/cancel", {"task_ids": [task_id]})] * 2,
            delete("/experiments/rush"),
        ]
        rng.shuffle(calls)
        answers = at_once(server, calls)
        allowed = {200, 400, 404, 409}
        assert {answer.status_code for answer in answers} <= allowed, [answer.text for answer in answers]
        assert server.sql(BROKEN) == []
    assert submission(task_id)(client).status_code == 200
    assert len(server.sql(LIVE)) == WANTED
    assert at_once(server, [delete(f"/tasks/{task_id}"), *[submission(task_id)] * 5])[0].status_code == 200
    assert server.sql(BROKEN) == []
    assert server.sql(LIVE) == []
