"""The oldest client in use works unchanged: its recorded requests, in their order, are answered with 200."""

from collections.abc import Callable

import httpx2

from .serving import Server, TaskFolder


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
