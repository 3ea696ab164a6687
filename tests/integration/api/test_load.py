"""How busy the deployment is, as its clients see it."""

from collections import Counter
from collections.abc import Callable

import httpx2

from .serving import Server, TaskFolder


def test_load(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> None:
    server.offer()
    task_id = str(new_task().upload(client)["task_id"])
    body = {
        "task_id": task_id,
        "configs": [
            {"agent": "nop", "n_trials": 4},
            {"agent": "claude-code", "model": "anthropic/claude-sonnet-4-5", "n_trials": 2},
        ],
    }
    submitted = client.post("/tasks/sweep", json=body)
    server.sql("UPDATE jobs SET state = 'scheduled', epoch = 1, run_at = now() WHERE subject_id = %s", f"{task_id}-0")
    server.sql(
        "UPDATE jobs SET state = 'running', worker_id = 'w', claim_id = gen_random_uuid() WHERE subject_id = %s",
        f"{task_id}-1",
    )
    statuses = Counter(trial["status"] for trial in client.get(f"/tasks/{task_id}").json()["trials"])
    load = client.get("/load").json()
    assert load["totals"] == statuses
    assert load["totals"] == {"queued": 4, "running": 1, "retrying": 1}
    model, baseline = load["queues"]
    assert (baseline["key"], baseline["queued"], baseline["running"], baseline["retrying"]) == ("nop_oracle", 2, 1, 1)
    assert (model["queued"], model["limit"], model["paused"]) == (2, 8, False)
    assert load["workers"] == {"alive": 1}
    assert load["ttl"] == 5
    assert 0 <= load["pressure"] <= 1
    assert load["submit_ceiling"] == int(submitted.headers["oddish-submit-concurrency"])
    assert 4 <= load["submit_ceiling"] <= 64


def test_a_worker_without_a_lease_is_not_alive(server: Server, client: httpx2.Client) -> None:
    assert client.get("/load").json()["workers"] == {"alive": 0}
    server.offer("local")
    server.offer("docker")
    assert client.get("/load").json()["workers"] == {"alive": 2}
    server.sql("UPDATE workers SET lease_until = now() - interval '1 s' WHERE 'local@harbor/0.26.0' = ANY (pools)")
    server.sql("UPDATE workers SET stopped_at = now() WHERE 'docker@harbor/0.26.0' = ANY (pools)")
    assert client.get("/load").json()["workers"] == {"alive": 0}


def test_the_trials_of_others_are_not_counted(
    server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]
) -> None:
    server.offer()
    task_id = str(new_task().upload(client)["task_id"])
    client.post("/tasks/sweep", json={"task_id": task_id, "configs": [{"agent": "nop"}]})
    load = server.client(server.key("a", org="other")).get("/load").json()
    assert (load["totals"], load["queues"]) == ({"queued": 0, "running": 0, "retrying": 0}, [])
