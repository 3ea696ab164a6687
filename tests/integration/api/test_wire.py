"""Clients of the wire format work unchanged: their calls, in their order, are answered with 200 and what they read.

``pytest -s`` shows the calls.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from .serving import KEY, Server, TaskFolder
from .wire import (
    ADMIN_READS,
    BATCH,
    BROWSED,
    CANCELLED,
    DETAIL,
    SHARE,
    SUBMITTED,
    TARGET,
    TASK,
    TASK_VERSION,
    TRIAL,
    VERSION,
    Caller,
)

type NewTask = Callable[..., TaskFolder]


@pytest.fixture
def caller(server: Server) -> Iterator[Caller]:
    server.offer("local", preference=1)
    server.offer("docker", preference=0)
    made = Caller(server.url, KEY)
    yield made
    print("\n" + "\n".join(made.lines))  # noqa: T201 - shown by `pytest -s`


def test_the_recorded_run_of_an_existing_client(
    server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]
) -> None:
    folder = new_task("hello")
    server.offer("local", preference=1)
    server.offer("docker", preference=0)
    token = "b7036a9dec8d2b43142d08a03ca0690bd1a4a8ccb479c6ab87940a21ce6e508c"

    init = client.post("/tasks/upload/init", json={"name": "hello", "content_hash": token})
    assert init.status_code == 200
    target = init.json()
    assert target["upload_url"].startswith(server.url)
    assert httpx2.put(target["upload_url"], content=folder.archive, headers=target["upload_headers"]).status_code == 200
    completion = {"task_id": target["task_id"], "name": "hello", "version": 1, "content_hash": token}
    complete = client.post("/tasks/upload/complete", json=completion)
    assert complete.status_code == 200, complete.text
    sweep = client.post(
        "/tasks/sweep",
        json={
            "task_id": target["task_id"],
            "configs": [{"agent": "nop", "model": None, "n_trials": 2, "environment": "docker"}],
            "user": "root",
            "priority": "low",
            "run_analysis": False,
            "experiment_id": "swift-comet-v8k2",
            "environment": "docker",
            "publish_experiment": False,
            "content_hash": token,
        },
    )
    assert sweep.status_code == 200, sweep.text
    submitted = sweep.json()
    assert submitted["trials_count"] == 2
    assert submitted["providers"] == {"default": 2}
    assert submitted["experiment_name"] == "swift-comet-v8k2"

    task = client.get(f"/tasks/{target['task_id']}").json()
    assert (task["status"], task["total"], task["completed"], task["failed"]) == ("pending", 2, 0, 0)
    assert [trial["id"] for trial in task["trials"]] == [f"{target['task_id']}-{index}" for index in range(2)]
    assert task["experiment_name"] == "swift-comet-v8k2"
    assert [entry["id"] for entry in client.get("/tasks?limit=200&offset=0").json()] == [target["task_id"]]
    by_experiment = client.get(f"/tasks?experiment_id={submitted['experiment_id']}").json()
    assert [entry["id"] for entry in by_experiment] == [target["task_id"]]
    cancelled = client.post("/tasks/cancel", json={"task_ids": [target["task_id"]]})
    assert cancelled.status_code == 200
    assert cancelled.json()["trials_cancelled"] == 2
    after = client.get(f"/tasks/{target['task_id']}").json()
    assert (after["status"], after["failed"]) == ("failed", 2)
    assert {trial["harbor_stage"] for trial in after["trials"]} == {"cancelled"}


def test_experiments_are_run_read_and_cancelled_as_clients_do(caller: Caller, new_task: NewTask) -> None:
    call = caller.call
    task_id = upload(caller, new_task("hello"))
    body = submission(task_id)
    assert call("POST", "/tasks/sweep", SUBMITTED, body)["providers"] == {"default": 2}
    batch = {"submissions": [{**body, "experiment_id": name} for name in ("one", "two")]}
    assert call("POST", "/tasks/sweep/batch", BATCH, batch)["succeeded"] == 2

    call("GET", "/tasks/shown", status=404)
    assert [task["id"] for task in call("GET", "/tasks?experiment_id=shown", [TASK])] == [task_id]
    assert call("GET", "/tasks?limit=200&offset=0", [TASK])[0]["status"] == "pending"
    assert len(call("GET", f"/tasks/{task_id}/versions", [TASK_VERSION])) == 1
    call("GET", f"/tasks/{task_id}/versions/1", TASK_VERSION)
    call("GET", f"/tasks/{task_id}/trials", [TRIAL])
    call("GET", f"/tasks/{task_id}/trials/0", TRIAL)
    call("GET", f"/trials/{task_id}-0", TRIAL)
    for path, shape in ADMIN_READS.items():
        call("GET", path, shape)

    assert call("POST", "/tasks/cancel", CANCELLED, {"task_ids": [task_id]})["trials_cancelled"] == 6
    stopped = call("GET", f"/trials/{task_id}-0", TRIAL)
    assert (stopped["status"], stopped["harbor_stage"]) == ("failed", "cancelled")
    assert call("GET", f"/tasks/{task_id}", TASK)["status"] == "failed"


def test_tasks_are_browsed_as_clients_do(caller: Caller, new_task: NewTask) -> None:
    task_id = upload(caller, new_task("hello"))
    caller.call("POST", "/tasks/sweep", SUBMITTED, submission(task_id))
    browsed = caller.call("GET", "/tasks/browse?limit=25&offset=0&query=hel", BROWSED)
    assert [task["id"] for task in browsed["items"]] == [task_id]
    assert caller.call("GET", f"/tasks/{task_id}/detail", DETAIL)["totals"]["total_trials"] == 2


def test_experiments_are_published_as_clients_do(caller: Caller, new_task: NewTask) -> None:
    call = caller.call
    body = {**submission(upload(caller, new_task("hello"))), "publish_experiment": True}
    experiment = call("POST", "/tasks/sweep", SUBMITTED, body)["experiment_id"]
    share = call("GET", f"/experiments/{experiment}/share", SHARE)
    assert share["is_public"]
    assert share["public_token"]
    assert not call("POST", f"/experiments/{experiment}/unpublish", SHARE)["is_public"]
    assert call("POST", f"/experiments/{experiment}/publish", SHARE)["public_token"] != share["public_token"]


def test_tasks_that_are_sent_side_by_side_end_in_one_experiment(caller: Caller, new_task: NewTask) -> None:
    folders = [new_task(f"task-{number}") for number in range(8)]

    def run(folder: TaskFolder) -> str:
        body = {"configs": [{"agent": "nop", "model": None, "n_trials": 1}], "experiment_id": "swift-comet-v8k2"}
        answer = caller.call("POST", "/tasks/sweep", SUBMITTED, {"task_id": upload(caller, folder), **body})
        return str(answer["experiment_id"])

    with ThreadPoolExecutor(len(folders)) as pool:
        assert len(set(pool.map(run, folders))) == 1


def submission(task_id: str) -> dict[str, object]:
    configs = [{"agent": "nop", "model": None, "n_trials": 2}]
    return {"task_id": task_id, "user": "somebody", "priority": "low", "configs": configs, "experiment_id": "shown"}


def upload(caller: Caller, folder: TaskFolder) -> str:
    init = {"name": folder.path.name, "content_hash": folder.content_hash}
    target = caller.call("POST", "/tasks/upload/init", TARGET, init)
    caller.put(target, folder.archive)
    completion = {"task_id": target["task_id"], "version": 1, **init}
    return str(caller.call("POST", "/tasks/upload/complete", VERSION, completion)["task_id"])
