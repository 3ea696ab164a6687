"""Why a trial waits, as the queue itself would tell: its place, and the first thing that would have to change."""

from collections.abc import Callable
from datetime import UTC, datetime

import httpx2
import pytest

from .serving import Server, TaskFolder

POOL = "local@harbor/0.26.0"
WORKER = f"worker-{POOL}"
RUN = "UPDATE jobs SET state = 'running', worker_id = %s, claim_id = gen_random_uuid() WHERE subject_id = %s"


@pytest.fixture
def task_id(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> str:
    server.offer()
    return str(new_task().upload(client)["task_id"])


@pytest.fixture
def trials(client: httpx2.Client, task_id: str) -> list[str]:
    body = {"task_id": task_id, "configs": [{"agent": "claude-code", "model": "acme/model", "n_trials": 3}]}
    created = client.post("/tasks/sweep", json=body).json()["new_trial_ids"]
    return [str(trial_id) for trial_id in created]


@pytest.fixture
def reason(client: httpx2.Client) -> Callable[[str], str | None]:
    def read(trial_id: str) -> str | None:
        found: str | None = client.get(f"/trials/{trial_id}").json()["queue_info"]["reason"]
        return found

    return read


type Reason = Callable[[str], str | None]


def test_a_place_in_the_line_is_no_reason(client: httpx2.Client, trials: list[str], reason: Reason) -> None:
    assert [reason(trial_id) for trial_id in trials] == [None] * 3
    assert [client.get(f"/trials/{trial_id}").json()["queue_info"]["ahead"] for trial_id in trials] == [0, 1, 2]


def test_the_line_is_in_the_order_of_the_claims(server: Server, client: httpx2.Client, trials: list[str]) -> None:
    def places() -> list[int]:
        return [client.get(f"/trials/{trial_id}").json()["queue_info"]["position"] for trial_id in trials]

    server.sql("UPDATE jobs SET priority = 1 WHERE subject_id = %s", trials[2])
    assert places() == [2, 3, 1]
    server.sql("UPDATE jobs SET ready_at = ready_at - interval '11 minutes' WHERE subject_id = %s", trials[1])
    assert places() == [3, 1, 2]


def test_limits_that_are_used_up(server: Server, trials: list[str], reason: Reason) -> None:
    server.sql("UPDATE queue_keys SET override_limit = 1 WHERE key = 'acme/model'")
    server.sql(RUN, WORKER, trials[0])
    assert reason(trials[1]) == "1 trial of acme/model may run at once, and do"
    server.sql("UPDATE queue_keys SET override_limit = 8 WHERE key = 'acme/model'")
    server.sql("UPDATE queue_caps SET override_limit = 1 WHERE name = 'provider:acme'")
    assert reason(trials[1]) == "1 trial of provider acme may run at once, and do"
    server.sql("UPDATE queue_caps SET override_limit = NULL WHERE name = 'provider:acme'")
    server.sql("UPDATE queue_caps SET override_limit = 0 WHERE name = 'org:default'")
    assert reason(trials[1]) == "nothing of this organisation may run: the limit is 0"
    server.sql("UPDATE queue_keys SET paused = true WHERE key = 'acme/model'")
    assert reason(trials[1]) == "the queue of acme/model is paused"


def test_a_backoff(server: Server, trials: list[str], reason: Reason) -> None:
    server.sql("UPDATE jobs SET state = 'scheduled', run_at = '2030-01-01T10:20:30Z' WHERE subject_id = %s", trials[0])
    assert reason(trials[0]) == "the next attempt starts at 10:20:30 UTC"


def test_workers_without_room(server: Server, trials: list[str], reason: Reason) -> None:
    server.sql("UPDATE jobs SET memory_mb = 3000")
    server.sql(RUN, WORKER, trials[0])
    assert reason(trials[1]) == "needs 3000 MB of memory, and no worker has more than 1096 MB left"
    server.sql("UPDATE workers SET concurrency = 1")
    assert reason(trials[1]) == "the only worker is busy"
    server.offer("docker")
    assert reason(trials[1]) == "the only worker is busy"


def test_a_worker_that_claims_nothing(server: Server, trials: list[str], reason: Reason) -> None:
    server.sql("UPDATE workers SET declines = 'is about to end', concurrency = 1")
    assert reason(trials[1]) == "the only worker is about to end"
    server.sql(RUN, WORKER, trials[0])
    assert reason(trials[1]) == "the only worker is busy"


def test_nobody_offers_the_environment(server: Server, trials: list[str], reason: Reason) -> None:
    missing = "no live worker offers environment local with harbor/0.26.0"
    gone = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    server.sql("UPDATE workers SET lease_until = %s", gone)
    assert reason(trials[0]) == f"{missing}; the last one was alive at 2026-01-02 03:04:05 UTC"
    server.sql("UPDATE publications SET reason = 'There is no bubblewrap.'")
    assert reason(trials[0]) == f"{missing}: There is no bubblewrap."
    server.sql("DELETE FROM publications")
    server.sql("DELETE FROM workers")
    assert reason(trials[0]) == f"{missing}; none is known"


def test_others_of_its_submission(server: Server, trials: list[str], reason: Reason) -> None:
    first, second, third = trials
    server.sql("INSERT INTO job_groups (id, org_id, max_running) VALUES ('a', 'default', 1)")
    server.sql("INSERT INTO job_groups (id, org_id, after) VALUES ('b', 'default', 'a')")
    server.sql("UPDATE jobs SET group_id = 'a' WHERE subject_id = %s", first)
    server.sql("UPDATE jobs SET group_id = 'a', state = 'held' WHERE subject_id = %s", second)
    server.sql("UPDATE jobs SET group_id = 'b', state = 'held' WHERE subject_id = %s", third)
    assert reason(first) is None
    assert reason(second) == "1 trial of its submission may run at once, and do"
    assert reason(third) == f"waits until 2 other jobs end: {first}, {second}"
    server.sql("UPDATE jobs SET state = 'cancelled', finished_at = now() WHERE subject_id = ANY (%s)", [first, second])
    assert reason(third) is None
