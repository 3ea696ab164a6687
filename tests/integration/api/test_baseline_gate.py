"""The baseline gate: trials of other agents run on tasks that oracle and nop found sound, and are skipped elsewhere."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import psycopg
import pytest

from oddish.db.url import plain
from oddish.trials.cancellation import BATCH
from support.waiting import eventually

from .serving import Server, TaskFolder

ORACLE, NOP = {"agent": "oracle"}, {"agent": "nop"}
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
MODEL = {"agent": "claude-code", "model": "anthropic/claude-sonnet-4-5"}


@pytest.fixture
def task_id(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> str:
    server.offer("local")
    return str(new_task().upload(client)["task_id"])


def sweep(client: httpx2.Client, task_id: str, *configs: dict[str, object], **members: object) -> httpx2.Response:
    body = {"task_id": task_id, "configs": list(configs), "experiment_id": "mine", **members}
    return client.post("/tasks/sweep", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})


def gated(client: httpx2.Client, task_id: str, *configs: dict[str, object], **members: object) -> dict:
    answer = sweep(client, task_id, *configs, gate_baselines=True, **members)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def end(server: Server, trial_id: str, *, reward: float | None = None, state: str = "done") -> None:
    server.sql("UPDATE trials SET reward = %s WHERE id = %s", reward, trial_id)
    server.sql("UPDATE jobs SET state = %s, finished_at = now() WHERE subject_id = %s", state, trial_id)


def states(server: Server) -> list[str]:
    return [state for (state,) in server.sql("SELECT state FROM jobs ORDER BY id")]


def shown(client: httpx2.Client, trial_id: str) -> dict:
    return dict(client.get(f"/trials/{trial_id}").json())


def test_without_the_gate_nothing_waits(server: Server, client: httpx2.Client, task_id: str) -> None:
    assert sweep(client, task_id, ORACLE, NOP, MODEL).json()["gated_trials"] == 0
    assert states(server) == ["ready", "ready", "ready"]


def test_other_agents_run_once_every_baseline_came_to_what_it_should(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    answer = gated(client, task_id, {**MODEL, "n_trials": 2}, {**ORACLE, "n_trials": 2}, NOP)
    assert answer["gated_trials"] == 2
    assert states(server) == ["held", "held", "ready", "ready", "ready"]
    end(server, f"{task_id}-2", reward=1)
    end(server, f"{task_id}-3", reward=0.25)
    assert states(server)[:2] == ["held", "held"]
    end(server, f"{task_id}-4", reward=0)
    assert states(server)[:2] == ["ready", "ready"]
    assert shown(client, f"{task_id}-0")["status"] == "queued"


def test_a_cancelled_submission_is_cancelled_whole_in_however_many_batches(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    gated(client, task_id, ORACLE, NOP, {**MODEL, "n_trials": BATCH})
    assert client.post("/tasks/cancel", json={"task_ids": [task_id]}).status_code == 200
    assert states(server) == ["cancelled"] * (BATCH + 2)


def test_a_trial_at_the_gate_says_what_it_waits_for(server: Server, client: httpx2.Client, task_id: str) -> None:
    gated(client, task_id, MODEL, {**ORACLE, "n_trials": 2}, NOP)
    end(server, f"{task_id}-1", reward=1)
    reason = shown(client, f"{task_id}-0")["queue_info"]["reason"]
    assert reason == f"runs if oracle and nop find the task sound: waits for {task_id}-2, {task_id}-3"


@pytest.mark.parametrize(
    ("oracle", "nop", "why"),
    [
        ({"reward": 0}, {"reward": 0}, "0 of oracle earned 0, not more than 0"),
        ({"reward": -1}, {"reward": 0}, "0 of oracle earned -1, not more than 0"),
        ({"reward": 1}, {"reward": 1}, "1 of nop earned 1, not 0"),
        ({"reward": 1}, {"reward": 0.5}, "1 of nop earned 0.5, not 0"),
        ({"reward": 1}, {"reward": -0.5}, "1 of nop earned -0.5, not 0"),
        ({"reward": None}, {"reward": 0}, "0 of oracle has no reward"),
        ({"reward": 1, "state": "failed"}, {"reward": 0}, "0 of oracle failed"),
        ({"reward": 1}, {"state": "failed"}, "1 of nop failed"),
        (
            {"reward": 0},
            {"reward": 1},
            "0 of oracle earned 0, not more than 0; 1 more of oracle and nop did not come to what they should",
        ),
    ],
)
def test_a_faulty_task_is_not_tried_by_others(
    server: Server, client: httpx2.Client, task_id: str, oracle: dict, nop: dict, why: str
) -> None:
    gated(client, task_id, ORACLE, NOP, {**MODEL, "n_trials": 2})
    end(server, f"{task_id}-0", **oracle)
    end(server, f"{task_id}-1", **nop)
    for index in (2, 3):
        trial = shown(client, f"{task_id}-{index}")
        assert (trial["status"], trial["error_message"]) == ("skipped", f"Not run: {task_id}-{why}")
        assert (trial["reasons"], trial["attempts"], trial["started_at"]) == (["baseline_gate"], 0, None)
        assert trial["finished_at"] is not None


def test_skipped_trials_have_ended_and_are_counted_apart(server: Server, client: httpx2.Client, task_id: str) -> None:
    gated(client, task_id, ORACLE, MODEL)
    end(server, f"{task_id}-0", state="failed")
    task = client.get(f"/tasks/{task_id}").json()
    assert (task["status"], task["failed"], task["skipped"], task["reward_total"]) == ("failed", 1, 1, 0)
    assert task["progress"] == "0/2 completed, 1 failed, 1 skipped"
    assert task["finished_at"] is not None
    experiment = client.get(f"/experiments/{task['experiment_id']}").json()
    assert (experiment["trials"], experiment["queued"], experiment["skipped"]) == (2, 0, 1)


def test_cancelling_the_baselines_skips_the_others(client: httpx2.Client, task_id: str) -> None:
    gated(client, task_id, ORACLE, MODEL)
    client.post("/tasks/cancel", json={"trial_ids": [f"{task_id}-0"]})
    assert shown(client, f"{task_id}-1")["error_message"] == f"Not run: {task_id}-0 of oracle was cancelled"


def test_trials_that_wait_at_the_gate_can_be_cancelled(server: Server, client: httpx2.Client, task_id: str) -> None:
    gated(client, task_id, ORACLE, {**MODEL, "n_trials": 2})
    client.post("/tasks/cancel", json={"trial_ids": [f"{task_id}-1"]})
    assert states(server) == ["ready", "cancelled", "held"]
    end(server, f"{task_id}-0", reward=0)
    assert states(server) == ["done", "cancelled", "skipped"]
    assert shown(client, f"{task_id}-1")["error_message"] == "Cancelled by user"


def test_cancelling_the_task_skips_nothing(server: Server, client: httpx2.Client, task_id: str) -> None:
    gated(client, task_id, {**MODEL, "n_trials": 2}, ORACLE, NOP, {**MODEL, "agent_config": {"kwargs": {"a": 1}}})
    client.post("/tasks/cancel", json={"task_ids": [task_id]})
    assert states(server) == ["cancelled"] * 5


def test_a_baseline_that_runs_again_keeps_the_gate_closed(server: Server, client: httpx2.Client, task_id: str) -> None:
    gated(client, task_id, ORACLE, MODEL)
    server.sql("UPDATE jobs SET state = 'scheduled', run_at = now(), epoch = 1 WHERE subject_id = %s", f"{task_id}-0")
    assert shown(client, f"{task_id}-0")["status"] == "retrying"
    assert states(server) == ["scheduled", "held"]


def test_baselines_that_the_experiment_has_decide_at_once(server: Server, client: httpx2.Client, task_id: str) -> None:
    sweep(client, task_id, ORACLE, NOP)
    end(server, f"{task_id}-0", reward=1)
    end(server, f"{task_id}-1", reward=0)
    answer = gated(client, task_id, ORACLE, NOP, MODEL)
    assert (answer["new_trial_ids"], answer["gated_trials"]) == ([f"{task_id}-2"], 1)
    assert states(server)[2] == "ready"


def test_baselines_need_not_be_asked_for_again(server: Server, client: httpx2.Client, task_id: str) -> None:
    sweep(client, task_id, ORACLE)
    assert gated(client, task_id, MODEL)["gated_trials"] == 1
    assert states(server) == ["ready", "held"]
    end(server, f"{task_id}-0", reward=0)
    assert states(server) == ["done", "skipped"]
    again = gated(client, task_id, MODEL)
    assert (again["new_trial_ids"], again["status"]) == ([f"{task_id}-2"], "completed")
    assert shown(client, f"{task_id}-2")["status"] == "skipped"


def test_without_any_baseline_nothing_waits(server: Server, client: httpx2.Client, task_id: str) -> None:
    sweep(client, task_id, ORACLE, experiment_id="other")
    sweep(client, task_id, ORACLE, harbor={"verifier": {"disable": True}})
    assert gated(client, task_id, MODEL)["gated_trials"] == 0
    assert states(server)[2] == "ready"


def test_another_version_is_judged_by_its_own_baselines(
    server: Server, client: httpx2.Client, task_id: str, new_task: Callable[..., TaskFolder]
) -> None:
    gated(client, task_id, ORACLE, MODEL)
    new_task(instruction="Say it again.").upload(client)
    gated(client, task_id, ORACLE, MODEL)
    end(server, f"{task_id}-0", reward=0)
    assert states(server) == ["done", "skipped", "ready", "held"]
    end(server, f"{task_id}-2", reward=1)
    assert states(server) == ["done", "skipped", "done", "ready"]


def test_skipped_trials_are_replaced_when_asked_for_again(server: Server, client: httpx2.Client, task_id: str) -> None:
    gated(client, task_id, ORACLE, MODEL)
    end(server, f"{task_id}-0", state="failed")
    again = gated(client, task_id, ORACLE, MODEL)
    assert again["new_trial_ids"] == [f"{task_id}-2", f"{task_id}-3"]
    assert shown(client, f"{task_id}-1")["superseded_by_trial_id"] == f"{task_id}-3"
    end(server, f"{task_id}-2", reward=1)
    assert shown(client, f"{task_id}-3")["status"] == "queued"
    assert states(server) == ["failed", "skipped", "done", "ready"]


def test_the_same_key_asks_anew_once_its_trials_were_skipped(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    sweep(client, task_id, ORACLE)
    body = {"task_id": task_id, "configs": [MODEL], "experiment_id": "mine", "gate_baselines": True}
    key = {"Idempotency-Key": "once"}
    first = client.post("/tasks/sweep", json=body, headers=key).json()
    assert client.post("/tasks/sweep", json=body, headers=key).json() == first
    end(server, f"{task_id}-0", state="failed")
    assert client.post("/tasks/sweep", json=body, headers=key).json()["new_trial_ids"] == [f"{task_id}-2"]


def test_a_gate_over_trials_without_rewards_is_refused(client: httpx2.Client, task_id: str) -> None:
    answer = sweep(client, task_id, ORACLE, MODEL, gate_baselines=True, harbor={"verifier": {"disable": True}})
    assert (answer.status_code, answer.json()["code"]) == (400, "nothing_to_judge")


def test_each_submission_of_a_batch_has_its_own_gate(
    server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder], task_id: str
) -> None:
    other = str(new_task("other").upload(client)["task_id"])
    submissions = [
        {"task_id": task, "configs": [ORACLE, MODEL], "experiment_id": "mine", "gate_baselines": on}
        for task, on in ((task_id, True), (other, False))
    ]
    answer = client.post("/tasks/sweep/batch", json={"submissions": submissions})
    assert [result["task"]["gated_trials"] for result in answer.json()["results"]] == [1, 0]
    assert states(server) == ["ready", "held", "ready", "ready"]


def test_a_cancel_outlasts_a_deadlock_with_who_opens_the_same_gates_in_turn(
    server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder], database_url: str
) -> None:
    """The cancelled trial waits at the second gate, which is locked first; the cancelled baseline decides the first."""
    server.offer("local")
    first, second = (str(new_task(name).upload(client)["task_id"]) for name in ("first", "second"))
    for task in (first, second):
        gated(client, task, ORACLE, MODEL)
    gates = [gate for (gate,) in server.sql("SELECT id FROM job_groups ORDER BY id")]
    other = psycopg.connect(plain(database_url))
    with ThreadPoolExecutor(1) as pool, other:
        other.execute("SET deadlock_timeout = '10s'")
        other.execute("SELECT release_group(%s)", [gates[0]])
        body = {"trial_ids": [f"{first}-0", f"{second}-1"]}
        cancelled = pool.submit(client.post, "/tasks/cancel", json=body)
        eventually(lambda: server.sql(WAITING) == [(1,)])
        other.execute("SELECT release_group(%s)", [gates[1]])
        other.commit()
        answer = cancelled.result(30)
    assert (answer.status_code, answer.json()["trials_cancelled"]) == (200, 2)
    assert states(server) == ["cancelled", "skipped", "ready", "cancelled"]
