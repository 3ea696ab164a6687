import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from oddish import Client
from oddish.client.types import SweepRequest


class Server:
    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []
        self.answers: dict[str, Any] = {}

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        self.requests.append(request)
        answer = self.answers.get(request.url.path, {})
        return httpx2.Response(200, json=answer(request) if callable(answer) else answer)

    def targets(self) -> list[str]:
        return [f"{request.method} {request.url.raw_path.decode()}" for request in self.requests]

    def body(self, number: int = -1) -> Any:
        return json.loads(self.requests[number].content)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def client(server: Server) -> Client:
    return Client("http://server.test/", "ok_1", transport=httpx2.MockTransport(server))


@pytest.fixture
def task(tmp_path: Path) -> Path:
    (tmp_path / "my task" / "tests").mkdir(parents=True)
    (tmp_path / "my task" / "task.toml").write_text("")
    (tmp_path / "my task" / "tests" / "test.sh").write_text("")
    return tmp_path / "my task"


def target(**changes: object) -> dict[str, object]:
    return {
        "task_id": "my-task-00000000",
        "name": "my-task",
        "version": 2,
        "version_id": "my-task-00000000-v2",
        "existing_task": True,
        "content_unchanged": False,
        "content_hash": "oddish1:0",
        "upload_url": "/store/1?sig=a%2Fb",
        "upload_method": "PUT",
        "upload_headers": {"Content-Type": "application/gzip"},
        "requires_completion": True,
    } | changes


def test_upload_sends_changed_content(server: Server, client: Client, task: Path) -> None:
    server.answers = {"/tasks/upload/init": target(), "/tasks/upload/complete": {"version": 2}}
    assert client.upload(task) == {"version": 2}
    assert server.targets() == ["POST /tasks/upload/init", "PUT /store/1?sig=a%2Fb", "POST /tasks/upload/complete"]
    assert server.body(0)["name"] == "my-task"
    assert "force_new_version" not in server.body(0)
    assert server.body()["version"] == 2


def test_upload_leaves_unchanged_content(server: Server, client: Client, task: Path) -> None:
    server.answers = {"/tasks/upload/init": target(content_unchanged=True, upload_url=None)}
    assert client.upload(task)["version"] == 2
    assert len(server.requests) == 1


def test_upload_may_be_complete_after_the_put(server: Server, client: Client, task: Path) -> None:
    server.answers = {"/tasks/upload/init": target(requires_completion=False)}
    client.upload(task, name="other", force_new_version=True)
    assert len(server.requests) == 2
    assert server.body(0)["name"] == "other"
    assert server.body(0)["force_new_version"] is True


def test_each_sweep_has_a_key_of_its_own(server: Server, client: Client) -> None:
    request: SweepRequest = {"task_id": "t", "configs": [], "priority": "low"}
    client.sweep(request)
    client.sweep(request)
    client.sweep(request, idempotency_key="mine")
    keys = [request.headers["idempotency-key"] for request in server.requests]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"


def test_an_experiment_is_read_to_its_last_page(server: Server, client: Client) -> None:
    def page(request: httpx2.Request) -> list[dict[str, int]]:
        start, size = int(request.url.params["offset"]), int(request.url.params["limit"])
        return [{"id": number} for number in range(start, min(450, start + size))]

    server.answers = {"/tasks": page}
    assert len(client.experiment_tasks("calm fern")) == 450
    assert [request.url.params["offset"] for request in server.requests] == ["0", "200", "400"]
    assert {request.url.params["experiment_id"] for request in server.requests} == {"calm fern"}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda client: client.health(), "GET /health"),
        (lambda client: client.task("a/b?c"), "GET /tasks/a%2Fb%3Fc"),
        (lambda client: client.trial("a-1"), "GET /trials/a-1"),
        (
            lambda client: client.tasks(limit=5, offset=10, include_trials=False),
            "GET /tasks?limit=5&offset=10&include_trials=false&include_queue_info=false",
        ),
        (lambda client: client.cancel(task_ids=["a"]), "POST /tasks/cancel"),
    ],
)
def test_routes(server: Server, client: Client, call: Callable[[Client], object], expected: str) -> None:
    call(client)
    assert server.targets() == [expected]


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        ({"task_ids": ["a"]}, {"task_ids": ["a"]}),
        ({"trial_ids": ["a-1"]}, {"task_ids": [], "trial_ids": ["a-1"]}),
        ({"experiment_id": "e"}, {"task_ids": [], "experiment_id": "e"}),
    ],
)
def test_cancel_bodies(server: Server, client: Client, arguments: dict[str, Any], body: dict[str, Any]) -> None:
    client.cancel(**arguments)
    assert server.body() == body


def test_the_client_closes_with_its_block(server: Server) -> None:
    with Client("http://server.test", transport=httpx2.MockTransport(server)) as client:
        client.health()
    assert "authorization" not in server.requests[0].headers
    with pytest.raises(RuntimeError):
        client.health()
