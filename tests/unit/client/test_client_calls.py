import json
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from oddish import Client
from oddish.client.archive import size
from oddish.client.errors import ApiError, NotPacked, UnexpectedAnswer
from oddish.client.types import Submitted, SweepRequest
from oddish.errors import InvalidInput

HEALTH = {"status": "healthy", "database": "connected", "timestamp": "2026-01-01T00:00:00Z"}
VERSION = {"task_id": "my-task-00000000", "version": 2, "content_hash": "oddish1:0"}
TRIAL: dict[str, object] = dict.fromkeys(
    ["task_id", "experiment_id", "agent", "model", "status", "reward", "attempts", "max_attempts"]
) | {"id": "a-1"}
SUBMITTED: dict[str, object] = dict.fromkeys(Submitted.__required_keys__) | {"id": "a"}


def task_of(identity: object) -> dict[str, object]:
    return {"id": identity, "name": "t", "status": "running", "experiment_id": "e", "created_at": "2026-01-01"}


class Server:
    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []
        self.answers: dict[str, Any] = {
            "/health": HEALTH,
            "/tasks": [],
            "/trials/a-1": TRIAL,
            "/tasks/a/b?c": task_of("a"),
            "/tasks/sweep": SUBMITTED,
        }

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        self.requests.append(request)
        answer = self.answers.get(request.url.path, {})
        if isinstance(answer, httpx2.Response):
            return answer
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
    server.answers = {"/tasks/upload/init": target(), "/tasks/upload/complete": VERSION}
    assert client.upload(task) == VERSION
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
    def page(request: httpx2.Request) -> list[dict[str, object]]:
        start, size = int(request.url.params["offset"]), int(request.url.params["limit"])
        return [task_of(str(number)) for number in range(start, min(450, start + size))]

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


@pytest.mark.parametrize("name", ["", ".", ".."])
@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (Client.task, "a task"),
        (Client.trial, "a trial"),
        (Client.delete_experiment, "an experiment"),
        (lambda client, name: list(client.live.follow(name)), "a trial"),
        (lambda client, name: client.costs.user(name), "a user"),
        (lambda client, name: client.evidence.files(name), "a trial"),
    ],
)
def test_what_nothing_can_be_called_is_not_asked_for(
    server: Server, client: Client, call: Callable[[Client, str], object], kind: str, name: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(f"{name!r} is no id or name of {kind}.")):
        call(client, name)
    assert server.targets() == []


def test_costs_are_not_asked_for_by_a_name_that_no_route_has(server: Server, client: Client) -> None:
    with pytest.raises(InvalidInput, match="'a/b' cannot be asked for by that name, which has a `/`"):
        client.costs.user("a/b")
    assert server.targets() == []


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


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ([], "no Health, which is an object"),
        ("fine", "no Health, which is an object"),
        ({"status": "UP"}, "no Health, which has database"),
    ],
)
def test_json_of_something_else_is_reported(server: Server, client: Client, answer: object, reason: str) -> None:
    server.answers["/health"] = answer
    with pytest.raises(UnexpectedAnswer, match=f"The answer of the server is {reason}"):
        client.health()


@pytest.mark.parametrize("answer", [{"tasks": []}, [1], [{"id": "t"}]])
def test_a_list_of_something_else_is_reported(server: Server, client: Client, answer: object) -> None:
    server.answers["/tasks"] = answer
    with pytest.raises(UnexpectedAnswer, match="Task"):
        client.tasks()


@pytest.mark.parametrize("listed", [5, "x", [{}], [7]])
def test_a_list_of_other_keys_or_secrets_is_reported(server: Server, client: Client, listed: object) -> None:
    server.answers |= {"/secrets": {"secrets": listed}, "/api-keys": {"keys": listed, "cursor": None}}
    with pytest.raises(UnexpectedAnswer, match="Secret"):
        client.credentials.list()
    with pytest.raises(UnexpectedAnswer, match="ApiKey"):
        list(client.keys.list())


@pytest.mark.parametrize("path", ["/tasks/upload/init", "/tasks/upload/complete", "/tasks/sweep"])
def test_submitting_to_something_else_is_reported(server: Server, client: Client, task: Path, path: str) -> None:
    server.answers |= {"/tasks/upload/init": target(), "/tasks/upload/complete": VERSION, path: {"ok": True}}

    def submit() -> None:
        client.upload(task)
        client.sweep({"task_id": "t", "configs": [], "priority": "low"})

    with pytest.raises(UnexpectedAnswer, match="an oddish server, and that its version fits"):
        submit()


def test_an_archive_above_the_limit_is_named_with_what_makes_it_large(
    server: Server, client: Client, task: Path
) -> None:
    for number, megabytes in enumerate((3, 1, 4, 2)):
        (task / "tests" / f"{number}.bin").write_bytes(os.urandom(megabytes * 1_000_000))
    problem = {"detail": "The upload is larger than 100 bytes.", "code": "too_large"}
    server.answers = {"/tasks/upload/init": target(), "/store/1": httpx2.Response(413, json=problem)}
    with pytest.raises(ApiError) as caught:
        client.upload(task)
    assert re.fullmatch(
        r"The archive of task my-task has 10\.0 MB \(100\d{5} bytes\): The upload is larger than 100 bytes\.",
        caught.value.message,
    )
    assert "tests/2.bin (4.0 MB), tests/0.bin (3.0 MB), tests/3.bin (2.0 MB)." in str(caught.value.fix)
    assert "ODDISH_MAX_ARCHIVE_BYTES" in str(caught.value.fix)
    assert (caught.value.problem_code, caught.value.http_status) == ("too_large", 413)


def test_an_upload_that_took_longer_than_its_url_lives_gets_another(server: Server, client: Client, task: Path) -> None:
    urls = iter(["/store/old", "/store/new"])
    expired = httpx2.Response(403, json={"detail": "This signed URL has expired.", "code": "expired_url"})
    server.answers = {
        "/tasks/upload/init": lambda _: target(upload_url=next(urls)),
        "/store/old": expired,
        "/tasks/upload/complete": VERSION,
    }
    assert client.upload(task) == VERSION
    assert [request.url.path for request in server.requests if request.method == "PUT"] == ["/store/old", "/store/new"]


def test_a_machine_without_room_for_the_archive(
    server: Server, client: Client, task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = {"/tasks/upload/init": target()}
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(NotPacked, match=r"archive of task my-task cannot be written to .*/gone: No such file.*TMPDIR"):
        client.upload(task)
    assert [request.method for request in server.requests] == ["POST"]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (123_456, "123 kB"),
        (536_870_912, "537 MB"),
        (2e13, "20000 GB"),
    ],
)
def test_sizes_have_few_digits(count: int, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    "tasks", [[task_of(7)], [task_of(None)], [task_of("a") | {"trials": [TRIAL | {"id": ["a-1"]}]}]]
)
def test_ids_are_text_whatever_answers(server: Server, client: Client, tasks: list[object]) -> None:
    server.answers |= {"/tasks": tasks, "/tasks/a": tasks[0]}
    for ask in (client.tasks, lambda: client.task("a")):
        with pytest.raises(UnexpectedAnswer, match="whose id is text"):
            ask()
