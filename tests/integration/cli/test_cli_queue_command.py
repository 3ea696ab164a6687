"""``oddish status --queue`` against servers that answer less, more, or something unpleasant."""

import json
from typing import Any

import pytest

READS = ("queue-health", "queue-status", "slots", "orphaned-state", "worker-jobs")
KEY = {
    "queue_key": "acme/model",
    "queued": 2,
    "queued_scheduled": 0,
    "running": 0,
    "limit": 4,
    "fill": 0.0,
    "oldest_queued_age_seconds": 7.31,
    "wait_p50_seconds": None,
    "wait_p95_seconds": None,
}
CALM: dict[str, dict[str, Any]] = {
    "queue-health": {
        "totals_queued": 2,
        "totals_running": 0,
        "throughput": [],
        "capacity": [KEY],
        "dispatcher": {"component": "dispatcher", "updated_at": "", "age_seconds": 12.0, "payload": {}},
        "reconciler": None,
    },
    "queue-status": {"queues": [{"kind": "trial", "queue_key": "acme/model", "queued": 2, "running": 0}]},
    "slots": {"queue_keys": [], "total_slots": 4, "total_active": 0},
    "orphaned-state": {
        "counts": {
            "running_stale_heartbeat": 0,
            "active_tasks_without_active_trials": 0,
            "retrying_without_worker": 0,
        },
        "trial_samples": [],
        "task_samples": [],
        "stale_after_minutes": 15,
    },
    "worker-jobs": {"counts": {}, "recent_failures": [], "durations_last_hour": []},
}


@pytest.fixture
def answers(server: Any) -> Any:
    for name, body in CALM.items():
        server.refusals["GET", f"/admin/{name}"] = (200, body)
    return server


def answer(server: Any, name: str, **changes: object) -> None:
    server.refusals["GET", f"/admin/{name}"] = (200, CALM[name] | changes)


def refuse(server: Any, name: str, status: int, reason: str) -> None:
    server.refusals["GET", f"/admin/{name}"] = (status, {"detail": reason})


def test_what_a_server_does_not_know_is_left_out(answers: Any, invoke: Any) -> None:
    refuse(answers, "worker-jobs", 404, "Not Found")
    shown = invoke("status", "-Q")
    assert shown.exit_code == 0, shown.output
    assert "Worker jobs: not available on this server" in shown.output.splitlines()
    document = json.loads(invoke("status", "-Q", "--json").stdout)
    assert document["worker_jobs"] is None
    assert document["queue_health"] == CALM["queue-health"]


def test_a_read_that_fails_does_not_hide_the_others(answers: Any, invoke: Any) -> None:
    refuse(answers, "slots", 400, "The slots are \x1b[31mnot counted.")
    shown = invoke("status", "-Q")
    assert shown.exit_code == 1
    assert "Slot leases: not read, The slots are not counted." in shown.output.splitlines()
    assert "Queue health  2 queued, 0 running" in shown.output.splitlines()
    asked = invoke("status", "-Q", "--json")
    assert asked.exit_code == 1
    document = json.loads(asked.stdout)
    assert document["slots"] == {"error": "The slots are \x1b[31mnot counted.", "status": 400}
    assert document["orphaned_state"] == CALM["orphaned-state"]


def test_a_server_that_tells_less_is_shown_all_the_same(answers: Any, invoke: Any) -> None:
    lines = invoke("status", "-Q").output.splitlines()
    assert "  dispatcher: last sign of life of a worker 12s ago" in lines
    [shown] = [line.split() for line in lines if line.startswith("acme/model")]
    assert shown == ["acme/model", "2", "0", "–", "0", "4", "0%", "7.3s", "–"]


def test_the_window_is_fifteen_minutes_unless_another_is_given(answers: Any, invoke: Any) -> None:
    targets: list[str] = []
    original = answers.answer

    def note(method: str, target: str, body: Any, headers: dict[str, str]) -> tuple[int, object]:
        targets.append(target)
        result: tuple[int, object] = original(method, target, body, headers)
        return result

    answers.answer = note
    invoke("status", "--queue")
    invoke("status", "--queue", "--stale-after", "30")
    windows = [target.rpartition("?")[2] for target in targets if "?" in target]
    assert windows == ["stale_after_minutes=15"] * 2 + ["stale_after_minutes=30"] * 2


def test_the_busiest_keys_are_shown_first_and_the_rest_are_counted(answers: Any, invoke: Any) -> None:
    keys = [KEY | {"queue_key": f"p/m{number:02}", "queued": number} for number in range(50)]
    idle = [KEY | {"queue_key": "p/idle", "queued": 0}]
    paused = [KEY | {"queue_key": "p/paused", "queued": 99, "paused": True}]
    answer(answers, "queue-health", capacity=keys + idle + paused)
    lines = invoke("status", "-Q").output.splitlines()
    shown = [line for line in lines if line.startswith("p/")]
    assert [line.split()[0] for line in shown] == ["p/paused", *(f"p/m{number:02}" for number in range(49, 10, -1))]
    assert shown[0].endswith("paused")
    assert "and 10 keys more; --json has all of them" in lines


@pytest.mark.parametrize(
    "arguments",
    [
        ("-Q", "hello-1a2b3c4d"),
        ("-Q", "-e", "mine"),
        ("-Q", "--all"),
        ("-Q", "--newest", "3"),
        ("-Q", "--stale-after", "0"),
        ("-Q", "--stale-after", "241"),
        ("--stale-after", "20"),
    ],
)
def test_options_that_do_not_go_together(answers: Any, invoke: Any, arguments: tuple[str, ...]) -> None:
    assert invoke("status", *arguments).exit_code == 2
    assert answers.calls == []
