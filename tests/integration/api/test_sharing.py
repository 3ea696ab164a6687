"""Publishing an experiment: whoever has the link reads what is meant for everybody, until it is taken back."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from .serving import Server, TaskFolder

type NewTask = Callable[..., TaskFolder]

PRIVATE = "private-falcon-x1y2"
SAID = {
    "user": "ada",
    "github_username": "octocat",
    "github_meta": {"pr": 12},
    "link": "https://example.com/pull/12",
    "tags": {"inside": "only"},
}
CONFIGS = [
    {"agent": "nop"},
    {"agent": "claude-code", "model": "acme/m", "agent_config": {"env": {"MODE": "inner-mode"}}},
]


@pytest.fixture
def task_id(server: Server, client: httpx2.Client, new_task: NewTask) -> str:
    server.offer()
    return str(new_task().upload(client)["task_id"])


def sweep(client: httpx2.Client, task_id: str, experiment: str = "mine", **members: object) -> httpx2.Response:
    body = {"task_id": task_id, "configs": [{"agent": "nop"}], "experiment_id": experiment, **members}
    return client.post("/tasks/sweep", json=body)


def read(visitor: httpx2.Client, token: str, path: str = "") -> Any:
    answer = visitor.get(f"/public/experiments/{token}{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_link_leads_to_the_experiment_until_it_is_taken_back(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    experiment = sweep(client, task_id).json()["experiment_id"]
    closed = {"id": experiment, "name": "mine", "is_public": False, "public_token": None, "description": None}
    assert client.get("/experiments/mine/share").json() == closed
    first = client.post("/experiments/mine/publish").json()
    assert first["is_public"]
    assert len(first["public_token"]) >= 43
    assert client.post(f"/experiments/{experiment}/publish").json() == first
    assert client.get(f"/experiments/{experiment}/share").json() == first
    assert client.get(f"/tasks/{task_id}").json()["experiment_is_public"] is True
    visitor = server.client(None)
    assert read(visitor, first["public_token"])["name"] == "mine"
    assert client.post("/experiments/mine/unpublish").json() == closed
    assert client.post("/experiments/mine/unpublish").json() == closed
    gone = visitor.get(f"/public/experiments/{first['public_token']}/tasks")
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
    assert first["public_token"] not in gone.text
    second = client.post("/experiments/mine/publish").json()
    assert second["public_token"] != first["public_token"]
    server.sql("UPDATE experiments SET deleted_at = now()")
    assert visitor.get(f"/public/experiments/{second['public_token']}").status_code == 404


def test_visitors_see_tasks_and_trials_and_nothing_that_is_said_inside(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    sweep(client, task_id, PRIVATE, configs=[{"agent": "oracle"}])
    submitted = sweep(client, task_id, configs=CONFIGS, **SAID).json()
    first, second = submitted["new_trial_ids"]
    server.sql(
        "UPDATE jobs SET state = 'failed', error = 'inner-error', finished_at = now() WHERE subject_id = %s", second
    )
    server.sql("UPDATE jobs SET state = 'done', finished_at = now() WHERE subject_id = %s", first)
    server.sql("""UPDATE trials SET reward = 1, result = '{"note": "inner-result"}' WHERE id = %s""", first)
    token = client.post("/experiments/mine/publish").json()["public_token"]
    visitor = server.client(None)
    (task,) = read(visitor, token, "/tasks")
    assert read(visitor, token, f"/tasks/{task_id}") == task
    assert (task["id"], task["total"], task["completed"], task["failed"]) == (task_id, 2, 1, 1)
    assert (task["reward_success"], task["progress"]) == (1, "1/2 completed, 1 failed")
    with server.counting_statements() as statements:
        trials = read(visitor, token, f"/tasks/{task_id}/trials")
    assert len(statements) <= 3
    assert [(trial["id"], trial["status"], trial["reward"]) for trial in trials] == [
        (first, "success", 1.0),
        (second, "failed", None),
    ]
    everything = "".join(
        visitor.get(f"/public/experiments/{token}{path}").text
        for path in ("", "/tasks", f"/tasks/{task_id}", f"/tasks/{task_id}/trials")
    )
    for inside in ("ada", "octocat", "pull/12", "inside", "inner-", PRIVATE, "analysis", "verdict", "config"):
        assert inside not in everything
    server.sql("UPDATE trials SET is_probe = true WHERE id = %s", second)
    assert [trial["id"] for trial in read(visitor, token, f"/tasks/{task_id}/trials")] == [first]


def test_what_is_not_in_the_experiment_is_not_under_its_link(
    server: Server, client: httpx2.Client, task_id: str, new_task: NewTask
) -> None:
    other = str(new_task("other").upload(client)["task_id"])
    sweep(client, task_id)
    sweep(client, other, PRIVATE)
    token = client.post("/experiments/mine/publish").json()["public_token"]
    visitor = server.client(None)
    assert [task["id"] for task in read(visitor, token, "/tasks")] == [task_id]
    for path in (f"/tasks/{other}", f"/tasks/{other}/trials", "/tasks/absent", "/trials"):
        assert visitor.get(f"/public/experiments/{token}{path}").status_code == 404
    for absent in ("x" * 43, token[:-1], "mine", "%00", "None"):
        assert visitor.get(f"/public/experiments/{absent}").status_code in (400, 404)
    assert visitor.post(f"/public/experiments/{token}/tasks").status_code == 405
    stranger = server.client(server.key("b", org="other"))
    for verb in ("publish", "unpublish"):
        assert stranger.post(f"/experiments/mine/{verb}").status_code == 404
    assert stranger.get("/experiments/mine/share").status_code == 404


def test_publishing_takes_a_full_key_however_it_is_asked_for(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    runner = server.client(server.key("t", scope="tasks"))
    refused = sweep(runner, task_id, publish_experiment=True)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert server.sql("SELECT count(*) FROM experiments") == [(0,)]
    assert sweep(runner, task_id, publish_experiment=False).status_code == 200
    assert runner.post("/experiments/mine/publish").status_code == 403
    assert runner.post("/experiments/mine/unpublish").status_code == 403
    assert runner.get("/experiments/mine/share").json()["is_public"] is False


def test_submissions_at_once_publish_one_link_and_wait_for_nobody_in_a_circle(
    server: Server, client: httpx2.Client, new_task: NewTask
) -> None:
    server.offer()
    there = [str(new_task(f"task{number}").upload(client)["task_id"]) for number in range(3)]
    clients = [server.client() for _ in range(12)]

    def submit(number: int) -> httpx2.Response:
        return sweep(clients[number], there[number % 3], publish_experiment=number % 2 == 0)

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(submit, range(12)))
    assert {answer.status_code for answer in answers} == {200}
    share = client.get("/experiments/mine/share").json()
    assert share["is_public"]
    assert sweep(client, there[0], publish_experiment=True).status_code == 200
    assert sweep(client, there[0], publish_experiment=False).status_code == 200
    assert client.get("/experiments/mine/share").json() == share
    assert server.sql("SELECT count(*) FROM trials") == [(3,)]
