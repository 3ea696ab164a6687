"""The state of the queue, as those who run a deployment see it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import httpx2
import pytest

from oddish.api import services
from oddish.settings import Settings

from .crowding import KEY, WORKER, crowd, end, run, silence
from .serving import Server, TaskFolder

READS = ("slots", "queue-status", "orphaned-state", "queue-health", "worker-jobs")


@pytest.fixture(autouse=True)
def counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "BACKLOG_SECONDS", 0.0)


@pytest.fixture
def trials(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> list[str]:
    return crowd(server, client, new_task)


def read(client: httpx2.Client, name: str, **params: int) -> dict[str, Any]:
    answer = client.get(f"/admin/{name}", params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def of_key(found: Mapping[str, Any], listed: str, key: str = KEY) -> dict[str, Any]:
    [entry] = [entry for entry in found[listed] if entry["queue_key"] == key]
    return dict(entry)


@pytest.mark.parametrize("name", READS)
def test_an_empty_deployment_is_told_apart_from_one_that_stands_still(client: httpx2.Client, name: str) -> None:
    found = read(client, name)
    assert found.pop("timestamp")
    if name == "queue-health":
        assert found["dispatcher"] is found["reconciler"] is None
    assert not any(value for value in found.values() if isinstance(value, list))


def test_the_health_of_a_key(server: Server, client: httpx2.Client, trials: list[str]) -> None:
    server.sql("UPDATE queue_keys SET override_limit = 4 WHERE key = %s", KEY)
    health = read(client, "queue-health")
    assert (health["totals_queued"], health["totals_running"]) == (3, 1)
    capacity = of_key(health, "capacity")
    ages = [capacity.pop(name) for name in ("oldest_queued_age_seconds", "wait_p50_seconds", "wait_p95_seconds")]
    assert ages == pytest.approx([60, 10, 10], abs=5)
    assert capacity == {
        "queue_key": KEY,
        "active": 1,
        "queued": 1,
        "queued_scheduled": 1,
        "queued_held": 1,
        "running": 1,
        "limit": 4,
        "deploy_limit": 8,
        "override_limit": 4,
        "paused": False,
        "fill": 0.25,
    }


def test_the_pace_counts_what_ran_and_not_what_was_cancelled_before(
    server: Server, client: httpx2.Client, trials: list[str]
) -> None:
    server.sql("UPDATE jobs SET started_at = started_at - interval '6 minutes' WHERE subject_id = %s", trials[0])
    [pace] = read(client, "queue-health")["throughput"]
    assert pace == {
        "kind": "trial",
        "started_5m": 2,
        "started_15m": 3,
        "started_60m": 3,
        "finished_5m": 1,
        "finished_15m": 1,
        "finished_60m": 1,
    }


@pytest.mark.parametrize("name", ["queue-health", "worker-jobs"])
def test_jobs_that_were_moved_out_of_the_queue_count_as_before(
    server: Server, client: httpx2.Client, trials: list[str], name: str
) -> None:
    before = read(client, name)
    columns = ", ".join(
        str(column) for (column,) in server.sql(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'finished_jobs'"
        )
    )  # fmt: skip
    ended = "DELETE FROM jobs WHERE finished_at IS NOT NULL RETURNING *"
    moved = f"WITH moved AS ({ended}) INSERT INTO finished_jobs ({columns}) SELECT {columns} FROM moved"  # noqa: S608
    server.sql(moved)
    after = read(client, name)
    for part in ("throughput", "recent_failures", "durations_last_hour", "counts"):
        assert after.get(part) == before.get(part)
    assert server.sql("SELECT count(*) FROM finished_jobs") == [(2,)]


def test_a_worker_that_lives_is_both_scheduler_and_housekeeper(server: Server, client: httpx2.Client) -> None:
    server.offer()
    silence(server, "3 s")
    health = read(client, "queue-health")
    for name in ("dispatcher", "reconciler"):
        assert health[name]["component"] == name
        assert 3 <= health[name]["age_seconds"] < 8
    assert health["dispatcher"]["payload"] == {"workers_alive": 1, "last_claim_at": None}
    silence(server, "1 hour")
    health = read(client, "queue-health")
    assert health["dispatcher"]["age_seconds"] == pytest.approx(3600, abs=5)
    assert health["dispatcher"]["payload"]["workers_alive"] == 0


def test_housekeeping_is_as_old_as_what_it_has_left_undone(
    server: Server, client: httpx2.Client, trials: list[str]
) -> None:
    server.sql("UPDATE jobs SET run_at = now() - interval '2 minutes' WHERE state = 'scheduled'")
    reconciler = read(client, "queue-health")["reconciler"]
    assert reconciler["age_seconds"] == pytest.approx(120, abs=5)
    assert reconciler["payload"] == {"overdue_jobs": 1, "dead_workers_with_jobs": 0}
    silence(server, "10 minutes")
    server.offer("docker")
    reconciler = read(client, "queue-health")["reconciler"]
    assert reconciler["age_seconds"] == pytest.approx(570, abs=5)
    assert reconciler["payload"] == {"overdue_jobs": 1, "dead_workers_with_jobs": 1}


def test_a_claim_is_a_sign_of_life(server: Server, client: httpx2.Client, trials: list[str]) -> None:
    silence(server, "1 hour")
    dispatcher = read(client, "queue-health")["dispatcher"]
    assert dispatcher["age_seconds"] < 60
    assert dispatcher["payload"]["last_claim_at"] == dispatcher["updated_at"]


def test_the_depths_by_kind(server: Server, client: httpx2.Client, trials: list[str]) -> None:
    server.sql("INSERT INTO queue_keys (key, deploy_limit) VALUES ('analysis', 1)")
    server.sql("INSERT INTO queue_lanes (key, lane) VALUES ('analysis', 'admin')")
    server.sql(
        "INSERT INTO jobs (org_id, kind, subject_id, pool, key, lane, state, max_attempts) "
        "VALUES ('default', 'analysis', 'a', 'p', 'analysis', 'admin', 'ready', 1)"
    )
    status = read(client, "queue-status")
    analysis = {"queue_key": "analysis", "queued": 1, "running": 0}
    trial = {"queue_key": KEY, "queued": 3, "running": 1}
    assert status["queues"] == [{"kind": "analysis", **analysis}, {"kind": "trial", **trial}]
    assert status["trial_queues"] == [trial]
    assert (status["analysis_queued"], status["analysis_running"]) == (1, 0)
    assert (status["verdict_queued"], status["verdict_running"]) == (0, 0)


def test_the_slots_that_are_held(server: Server, client: httpx2.Client, trials: list[str]) -> None:
    run(server, trials[5], seconds=100)
    silence(server, "1 s")
    found = read(client, "slots")
    key = of_key(found, "queue_keys")
    assert (key["total_slots"], key["active_slots"], found["total_active"]) == (8, 2, 2)
    assert [(slot["slot"], slot["locked_by"], slot["is_active"]) for slot in key["slots"]] == [
        (0, WORKER, True),
        (1, WORKER, True),
    ]
    assert all(slot["queue_key"] == KEY and slot["locked_until"] for slot in key["slots"])
    silence(server, "31 s")
    key = of_key(read(client, "slots"), "queue_keys")
    assert (key["active_slots"], [slot["is_active"] for slot in key["slots"]]) == (0, [False, False])
    server.sql("DELETE FROM workers")
    [slot, _] = of_key(read(client, "slots"), "queue_keys")["slots"]
    assert (slot["locked_until"], slot["is_active"]) == (None, False)


def test_nothing_is_stuck_while_workers_live(client: httpx2.Client, trials: list[str]) -> None:
    found = read(client, "orphaned-state")
    assert set(found["counts"].values()) == {0}
    assert (found["trial_samples"], found["task_samples"], found["stale_after_minutes"]) == ([], [], 15)
    assert read(client, "worker-jobs")["stale_running"] == []


def test_what_a_silent_worker_runs_is_shown_with_its_last_sign_of_life(
    server: Server, client: httpx2.Client, trials: list[str]
) -> None:
    silence(server, "10 minutes")
    found = read(client, "orphaned-state")
    assert found["counts"]["running_lease_ended"] == 1
    assert found["counts"]["running_stale_heartbeat"] == 0
    assert found["counts"]["retrying_without_worker"] == 1
    found = read(client, "orphaned-state", stale_after_minutes=5)
    assert (found["counts"]["running_stale_heartbeat"], found["stale_after_minutes"]) == (1, 5)
    [sample] = found["trial_samples"]
    [(beat,)] = server.sql("SELECT lease_until - interval '30 s' FROM workers")
    assert datetime.fromisoformat(sample["heartbeat_at"]) == beat
    assert sample == {
        "trial_id": trials[0],
        "queue_key": KEY,
        "harbor_stage": "trial_started",
        "current_worker_id": WORKER,
        "current_queue_slot": 0,
        "heartbeat_at": sample["heartbeat_at"],
    }
    [stale] = read(client, "worker-jobs", stale_after_minutes=5)["stale_running"]
    assert (stale["subject_id"], stale["worker_id"], stale["kind"]) == (trials[0], WORKER, "trial")
    assert stale["last_heartbeat_at"] == sample["heartbeat_at"]


def test_a_worker_that_nobody_knows_is_silent(server: Server, client: httpx2.Client, trials: list[str]) -> None:
    server.sql("DELETE FROM workers")
    found = read(client, "orphaned-state", stale_after_minutes=240)
    assert found["counts"]["running_stale_heartbeat"] == found["counts"]["running_lease_ended"] == 1
    assert found["trial_samples"][0]["heartbeat_at"] is None


def test_few_of_many_stuck_jobs_are_shown_those_silent_for_longest_first(
    server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]
) -> None:
    server.offer()
    task_id = str(new_task().upload(client)["task_id"])
    client.post("/tasks/sweep", json={"task_id": task_id, "configs": [{"agent": "nop", "n_trials": 25}]})
    server.sql(
        "INSERT INTO workers (id, hostname, pid, version, pools, cpus, memory_mb, concurrency, lease_until) "
        "SELECT 'w' || n, 'host', 1, '0', '{}', 2, 4096, 4, now() - n * interval '1 hour' FROM generate_series(0, 24) n"
    )
    server.sql(
        "UPDATE jobs SET state = 'running', worker_id = 'w' || split_part(subject_id, '-', 3), "
        "claim_id = gen_random_uuid(), started_at = now()"
    )
    found = read(client, "orphaned-state")
    assert found["counts"]["running_lease_ended"] == 25
    workers = [sample["current_worker_id"] for sample in found["trial_samples"]]
    assert workers == [f"w{number}" for number in range(24, 4, -1)]


def test_a_job_that_runs_for_a_trial_that_is_over_is_shown_by_its_task(
    server: Server, client: httpx2.Client, trials: list[str]
) -> None:
    server.sql("UPDATE trials SET status = 'failed' WHERE id = %s", trials[0])
    found = read(client, "orphaned-state")
    assert found["counts"]["active_tasks_without_active_trials"] == 1
    task_id = trials[0].rpartition("-")[0]
    assert found["task_samples"] == [{"task_id": task_id, "trial_id": trials[0], "current_worker_id": WORKER}]
    assert found["trial_samples"] == []


def test_what_became_of_the_last_hours_jobs(server: Server, client: httpx2.Client, trials: list[str]) -> None:
    found = read(client, "worker-jobs")
    states = {"ready": 1, "scheduled": 1, "held": 1, "running": 1, "failed": 1, "cancelled": 1}
    assert found["counts"] == {"trial": states}
    [duration] = found["durations_last_hour"]
    assert (duration["kind"], duration["queue_key"], duration["sample_count"]) == ("trial", KEY, 1)
    assert duration["p50"] == duration["p95"] == pytest.approx(90, abs=5)
    failures = {failure["subject_id"]: failure for failure in found["recent_failures"]}
    assert failures.keys() == {trials[1], trials[4]}
    assert failures[trials[4]]["error_message"] == "VerifierError: no reward"
    assert failures[trials[1]]["error_message"] == "429: slow down"
    assert all(failure["last_heartbeat_error"] is None for failure in failures.values())
    server.sql("UPDATE jobs SET finished_at = finished_at - interval '61 minutes'")
    server.sql("UPDATE attempts SET finished_at = finished_at - interval '61 minutes'")
    found = read(client, "worker-jobs")
    assert (found["recent_failures"], found["durations_last_hour"]) == ([], [])
    assert "failed" not in found["counts"]["trial"]


def test_a_failure_of_the_worker_is_told_apart(server: Server, client: httpx2.Client, trials: list[str]) -> None:
    end(server, trials[0], "scheduled", "The worker stopped.", run_at="now()", attempt="lost")
    server.sql("UPDATE attempts SET reasons = '[\"worker_lost\"]' WHERE trial_id = %s", trials[0])
    lost = [entry for entry in read(client, "worker-jobs")["recent_failures"] if entry["subject_id"] == trials[0]]
    assert [entry["last_heartbeat_error"] for entry in lost] == ["its worker stopped answering"]


def test_others_see_how_full_the_queue_is_and_no_trial_of_it(
    server: Server, client: httpx2.Client, trials: list[str]
) -> None:
    silence(server, "1 hour")
    server.sql("UPDATE trials SET status = 'failed' WHERE id = %s", trials[0])
    stranger = server.client(server.key("a", org="other"))
    assert of_key(read(stranger, "queue-health"), "capacity") == pytest.approx(
        of_key(read(client, "queue-health"), "capacity"), abs=5
    )
    assert read(stranger, "orphaned-state")["counts"] == read(client, "orphaned-state")["counts"]
    jobs = read(stranger, "worker-jobs")
    assert [jobs[part] for part in ("counts", "stale_running", "recent_failures", "durations_last_hour")] == [
        {},
        [],
        [],
        [],
    ]
    task_id = trials[0].rpartition("-")[0]
    for name in READS:
        assert task_id not in stranger.get(f"/admin/{name}").text, name
    assert all(task_id in client.get(f"/admin/{name}").text for name in ("orphaned-state", "worker-jobs"))


@pytest.mark.parametrize("minutes", [0, 241])
@pytest.mark.parametrize("name", ["orphaned-state", "worker-jobs"])
def test_a_worker_is_called_silent_after_a_minute_at_least_and_four_hours_at_most(
    client: httpx2.Client, name: str, minutes: int
) -> None:
    assert client.get(f"/admin/{name}", params={"stale_after_minutes": minutes}).status_code == 422


@pytest.mark.parametrize("scope", ["read", "tasks"])
def test_the_refusal_of_a_lesser_key_names_the_scope(server: Server, client: httpx2.Client, scope: str) -> None:
    lesser = server.client(server.key("a", scope=scope))
    for name in READS:
        refused = lesser.get(f"/admin/{name}")
        assert refused.status_code == 403
        assert f"needs a key of scope 'full'; this one has '{scope}'" in refused.json()["detail"]


def test_many_who_ask_have_the_queue_counted_once(
    start: Callable[[Settings], Server], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "BACKLOG_SECONDS", 60.0)
    server = start(settings)
    client = server.client()
    with server.counting_statements() as statements:
        stamps = {read(client, "queue-status")["timestamp"] for _ in range(5)}
    assert (len(statements), len(stamps)) == (1, 1)
