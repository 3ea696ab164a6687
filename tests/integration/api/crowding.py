"""A queue in which something is in every state, as workers would have left it."""

from collections.abc import Callable

import httpx2

from .serving import Server, TaskFolder

POOL = "local@harbor/0.26.0"
WORKER = f"worker-{POOL}"
KEY = "acme/model"


def crowd(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> list[str]:
    """Six trials of ``KEY``: running, in backoff, held, cancelled, failed, and one that is ready for a minute."""
    server.offer()
    task_id = str(new_task().upload(client)["task_id"])
    body = {"task_id": task_id, "configs": [{"agent": "claude-code", "model": KEY, "n_trials": 6}]}
    created: list[str] = client.post("/tasks/sweep", json=body).json()["new_trial_ids"]
    running, backoff, held, cancelled, failed, ready = created
    run(server, running)
    run(server, backoff)
    end(server, backoff, "scheduled", "429: slow down", run_at="now() + interval '1 hour'")
    run(server, failed, seconds=90)
    end(server, failed, "failed", "VerifierError: no reward")
    server.sql("INSERT INTO job_groups (id, org_id, max_running) VALUES ('g', 'default', 1)")
    server.sql("UPDATE jobs SET state = 'held', group_id = 'g' WHERE subject_id = %s", held)
    server.sql("UPDATE jobs SET state = 'cancelled', finished_at = now() WHERE subject_id = %s", cancelled)
    server.sql("UPDATE jobs SET ready_at = now() - interval '1 minute' WHERE subject_id = %s", ready)
    return created


def run(server: Server, trial_id: str, *, seconds: int = 10) -> None:
    """Claimed so long ago, after as long in the line."""
    server.sql(
        "UPDATE jobs SET state = 'running', worker_id = %s, claim_id = gen_random_uuid(), epoch = epoch + 1, "
        "attempt = attempt + 1, started_at = now() - make_interval(secs => %s), "
        "ready_at = now() - make_interval(secs => %s) WHERE subject_id = %s",
        WORKER,
        seconds,
        2 * seconds,
        trial_id,
    )
    server.sql(
        "INSERT INTO attempts (trial_id, epoch, org_id, job_id, claim_id, worker_id) "
        "SELECT subject_id, epoch, org_id, id, claim_id, worker_id FROM jobs WHERE subject_id = %s",
        trial_id,
    )


def end(
    server: Server, trial_id: str, state: str, error: str, *, run_at: str = "NULL", attempt: str = "finished"
) -> None:
    server.sql(
        f"UPDATE jobs SET state = %s, worker_id = NULL, error = %s, run_at = {run_at}, "  # noqa: S608
        "finished_at = CASE WHEN %s = 'scheduled' THEN NULL ELSE now() END WHERE subject_id = %s",
        state,
        error,
        state,
        trial_id,
    )
    server.sql("UPDATE attempts SET state = %s, finished_at = now() WHERE trial_id = %s", attempt, trial_id)


def silence(server: Server, interval: str) -> None:
    """No worker has renewed its lease for so long."""
    server.sql("UPDATE workers SET lease_until = now() + interval '30 s' - %s::interval", interval)
