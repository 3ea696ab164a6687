"""Deleting: what is gone for whom, what stops, what is free again, and what stays."""

import uuid
from collections.abc import Callable

import httpx2
import pytest

from oddish.settings import Settings

from .crowding import run
from .serving import Server, TaskFolder

type NewTask = Callable[..., TaskFolder]

NOP, ORACLE = {"agent": "nop"}, {"agent": "oracle"}
MODEL = {"agent": "claude-code", "model": "anthropic/claude-sonnet-4-5"}


@pytest.fixture
def task_id(server: Server, client: httpx2.Client, new_task: NewTask) -> str:
    server.offer()
    return str(new_task().upload(client)["task_id"])


def sweep(client: httpx2.Client, task_id: str, *configs: dict[str, object], **members: object) -> list[str]:
    body = {"task_id": task_id, "configs": list(configs), "experiment_id": "mine", **members}
    answer = client.post("/tasks/sweep", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})
    assert answer.status_code == 200, answer.text
    created: list[str] = answer.json()["new_trial_ids"]
    return created


def end(server: Server, state: str, *trial_ids: str) -> None:
    over = "UPDATE jobs SET state = %s, worker_id = NULL, finished_at = now() WHERE subject_id = ANY (%s)"
    server.sql(over, state, list(trial_ids))


def job(server: Server, trial_id: str) -> tuple[object, ...]:
    return server.sql("SELECT state, cancel_requested FROM jobs WHERE subject_id = %s", trial_id)[0]


def test_a_deleted_trial_is_found_nowhere_and_counts_for_nothing(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    waiting, done, running = sweep(client, task_id, {**NOP, "n_trials": 3})
    run(server, running)
    server.leave_files(done, {"result.json": b"{}"})
    end(server, "done", done)
    answers = [client.delete(f"/trials/{name}") for name in (waiting, done, running)]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert answers[0].json()["message"] == f"Deleted trial {waiting}, which had not ended."
    assert [(answer.json()["deleted"], answer.json()["trials_cancelled"]) for answer in answers] == [
        (waiting, 1),
        (done, 0),
        (running, 1),
    ]
    assert job(server, waiting) == ("cancelled", True)
    assert job(server, running) == ("running", True)
    for path in ("", "/files", "/files/result.json", "/logs", "/result"):
        assert client.get(f"/trials/{done}{path}").status_code == 404, path
    assert client.get(f"/tasks/{task_id}/trials/1").status_code == 404
    assert client.get(f"/tasks/{task_id}/trials").json() == []
    task = client.get(f"/tasks/{task_id}").json()
    assert (task["total"], task["trials"], task["other_version_trials"]) == (0, [], 0)
    assert client.get("/experiments/mine").json()["trials"] == 0
    for call in (client.post(f"/trials/{done}/retry"), client.delete(f"/trials/{done}")):
        assert (call.status_code, call.json()["code"]) == (404, "not_found")
    assert client.post("/tasks/cancel", json={"trial_ids": [running]}).status_code == 404

    end(server, "failed", running)
    assert sweep(client, task_id, {**NOP, "n_trials": 3}) == [f"{task_id}-{index}" for index in (3, 4, 5)]
    assert server.sql("SELECT running FROM queue_keys WHERE key = 'nop_oracle'") == [(0,)]


def test_a_replaced_trial_stays_replaced_when_its_successor_is_deleted(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    body = {"task_id": task_id, "configs": [NOP], "experiment_id": "mine"}
    key = {"Idempotency-Key": "once"}
    first = client.post("/tasks/sweep", json=body, headers=key).json()["new_trial_ids"][0]
    end(server, "failed", first)
    second = client.post(f"/trials/{first}/retry").json()["new_trial_id"]
    assert client.delete(f"/trials/{second}").status_code == 200
    assert client.get(f"/trials/{first}").json()["superseded_by_trial_id"] == second
    assert client.get(f"/tasks/{task_id}").json()["trials"] == []
    repeated = client.post("/tasks/sweep", json=body, headers=key).json()
    assert repeated["new_trial_ids"] == [f"{task_id}-2"]


def test_a_gate_is_decided_without_deleted_baselines(server: Server, client: httpx2.Client, task_id: str) -> None:
    oracle, nop, model = sweep(client, task_id, ORACLE, NOP, MODEL, gate_baselines=True)
    server.sql("UPDATE trials SET reward = CASE WHEN id = %s THEN 1 ELSE 0 END", oracle)
    assert client.delete(f"/trials/{nop}").status_code == 200
    assert job(server, model)[0] == "held"
    end(server, "done", oracle)
    assert job(server, model)[0] == "ready"


def test_a_deleted_task_goes_with_everything_and_its_name_begins_anew(
    server: Server, client: httpx2.Client, task_id: str, new_task: NewTask
) -> None:
    new_task(instruction="Second.").upload(client)
    created = sweep(client, task_id, {**NOP, "n_trials": 2}) + sweep(client, task_id, ORACLE, experiment_id="other")
    reserved = client.post("/tasks/upload/init", json={"name": "hello", "content_hash": "word"}).json()
    end(server, "done", created[0])
    answer = client.delete(f"/tasks/{task_id}")
    assert answer.status_code == 200
    assert answer.json()["message"] == f"Deleted task {task_id} and 3 trials, 2 of which had not ended."
    assert server.sql("SELECT count(*) FROM jobs WHERE state IN ('ready', 'held', 'scheduled', 'running')") == [(0,)]
    gone = ("", "/trials", "/trials/0", "/versions", "/versions/1")
    paths = [f"/tasks/{task_id}{path}" for path in gone] + [f"/trials/{name}" for name in created]
    assert {path: client.get(path).status_code for path in paths} == dict.fromkeys(paths, 404)
    assert client.get("/tasks").json() == []
    assert client.get("/experiments/mine").json()["tasks"] == 0
    assert client.delete(f"/tasks/{task_id}").status_code == 404
    completion = {"task_id": task_id, "content_hash": "word"}
    assert client.post("/tasks/upload/complete", json=completion).status_code == 404
    refused = client.post("/tasks/sweep", json={"task_id": task_id, "configs": [NOP]})
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert reserved["task_id"] == task_id

    again = new_task().upload(client)
    assert (again["task_id"] != task_id, again["version"]) == (True, 1)
    assert sweep(client, str(again["task_id"]), NOP) == [f"{again['task_id']}-0"]


def test_a_deleted_experiment_takes_its_own_trials_and_leaves_the_tasks(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    mine, other = sweep(client, task_id, {**NOP, "n_trials": 2}), sweep(client, task_id, NOP, experiment_id="other")
    old = client.get("/experiments/mine").json()["id"]
    answer = client.delete("/experiments/mine")
    assert (answer.status_code, answer.json()["deleted"], answer.json()["trials_deleted"]) == (200, old, 2)
    assert [client.get(f"/experiments/{name}").status_code for name in ("mine", old)] == [404, 404]
    assert client.get("/tasks", params={"experiment_id": "mine"}).json() == []
    task = client.get(f"/tasks/{task_id}").json()
    assert [trial["id"] for trial in task["trials"]] == other
    assert [experiment["name"] for experiment in task["experiments"]] == ["other"]
    assert client.get(f"/trials/{mine[0]}").status_code == 404
    assert client.delete("/experiments/mine").status_code == 404
    assert sweep(client, task_id, {**NOP, "n_trials": 2}) == [f"{task_id}-{index}" for index in (3, 4)]
    assert client.get("/experiments/mine").json()["id"] != old


def test_a_hosted_deployment_deletes_trials_only(
    start: Callable[[Settings], Server], settings: Settings, new_task: NewTask
) -> None:
    server = start(settings.model_copy(update={"deployment": "hosted"}))
    client = server.client()
    server.offer()
    task_id = str(new_task().upload(client)["task_id"])
    (trial_id,) = sweep(client, task_id, NOP)
    for path in (f"/tasks/{task_id}", "/experiments/mine"):
        refused = client.delete(path)
        assert (refused.status_code, refused.json()["code"]) == (403, "only_trials_deleted")
        assert "oddish delete --trial" in refused.json()["fix"]
    assert client.delete(f"/trials/{trial_id}").status_code == 200
