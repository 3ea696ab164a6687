"""Where trials may run and what tasks may reach, as a submission over HTTP is told."""

from collections.abc import Callable

import httpx2
import pytest

from .serving import Server, TaskFolder

type NewTask = Callable[..., TaskFolder]

COMPOSE = "services: {main: {build: ., environment: [KEY=$DAYTONA_API_KEY]}%s}\n"


def upload(client: httpx2.Client, new_task: NewTask, name: str, further: str) -> str:
    task = new_task(name)
    (task.path / "environment" / "docker-compose.yaml").write_text(COMPOSE % further)
    return str(task.upload(client)["task_id"])


def submit(client: httpx2.Client, task_id: str, environment: str) -> tuple[int, str, str]:
    config = {"agent": "nop", "environment": environment}
    answer = client.post("/tasks/sweep", json={"task_id": task_id, "configs": [config]})
    document = answer.json()
    return answer.status_code, document.get("code", ""), f"{document.get('detail')} {document.get('fix')}"


def allow(server: Server, monkeypatch: pytest.MonkeyPatch, **settings: object) -> None:
    for name, value in settings.items():
        monkeypatch.setitem(vars(server.services.settings), name, value)


def test_a_task_whose_services_reach_out_is_refused_until_the_operator_opens_that(
    server: Server, client: httpx2.Client, new_task: NewTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.offer("docker")
    sock = "/var/run/docker.sock:/var/run/docker.sock"
    inside = upload(client, new_task, "inside", "")
    outside = upload(client, new_task, "outside", f", engine: {{image: docker, volumes: ['{sock}']}}")
    assert submit(client, inside, "docker")[0] == 200
    status, code, words = submit(client, outside, "docker")
    assert (status, code) == (400, "closed_passthrough")
    assert f"environment/docker-compose.yaml: services.engine.volumes binds '{sock}'" in words
    assert "ODDISH_ALLOW_HOST_ACCESS=true" in words
    allow(server, monkeypatch, allow_host_access=True)
    assert submit(client, outside, "docker")[0] == 200


def test_an_environment_says_why_trials_do_not_run_in_it(
    server: Server, client: httpx2.Client, new_task: NewTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.offer("local")
    task_id = str(new_task("plain").upload(client)["task_id"])
    with_services = upload(client, new_task, "services", "")
    assert submit(client, task_id, "daytona")[:2] == (400, "environment_not_enabled")
    allow(server, monkeypatch, offered_environments=["local", "daytona", "runloop", "e2b"])
    assert submit(client, task_id, "daytona")[:2] == (400, "environment_unavailable")
    server.offer("daytona", reason="The worker has no credentials: it takes DAYTONA_API_KEY.")
    status, code, words = submit(client, task_id, "daytona")
    assert (status, code) == (400, "environment_unavailable")
    assert "it takes DAYTONA_API_KEY" in words
    server.offer("daytona", engine="harbor/0.26.1")
    assert submit(client, task_id, "daytona")[0] == 200
    assert server.sql("SELECT pool, memory_mb FROM jobs") == [("daytona@harbor/0.26.1", 0)]
    status, code, words = submit(client, with_services, "daytona")
    assert (status, code) == (400, "login_of_provider")
    assert "DAYTONA_API_KEY, with which the worker itself logs in" in words
    server.offer("e2b")
    assert submit(client, with_services, "e2b")[:2] == (400, "unfit_task")
    assert server.sql("SELECT count(*) FROM trials") == [(1,)]
