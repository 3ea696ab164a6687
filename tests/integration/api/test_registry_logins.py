"""Registry logins of a submission: who gets them, who does not, and that nobody sees them again."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from oddish.settings import Settings

from .serving import Server, TaskFolder

TOKEN = "dckr_pat_that-nobody-sees"
HUB = {"username": "acme", "token": TOKEN}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"offered_environments": ["local", "docker", "modal"]})


@pytest.fixture
def task_id(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> str:
    server.offer("local", preference=2)
    server.offer("docker", preference=1)
    server.offer("modal")
    return str(new_task().upload(client)["task_id"])


def sweep(client: httpx2.Client, task_id: str, logins: Any, environment: str = "docker", n: int = 1) -> httpx2.Response:
    configs = [{"agent": "nop", "environment": environment, "n_trials": n}]
    body = {"task_id": task_id, "configs": configs, "experiment_id": "e", "registry_auth": logins}
    answer = client.post("/tasks/sweep", json=body)
    assert TOKEN not in answer.text
    return answer


def stored(server: Server) -> list[Any]:
    rows = server.sql("SELECT s.ciphertext FROM secrets s JOIN trials t ON t.secret_id = s.id")
    assert not any(TOKEN.encode() in bytes(ciphertext) for (ciphertext,) in rows)  # type: ignore[call-overload]
    return [json.loads(server.services.keyring.decrypt(bytes(ciphertext))) for (ciphertext,) in rows]  # type: ignore[call-overload]


def test_logins_are_kept_encrypted_for_trials_on_a_docker_engine(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    other = {"registry": "registry.example:5000", "username": "me", "token": TOKEN}
    assert sweep(client, task_id, [HUB, other]).status_code == 200
    assert [secret["registry_auth"] for secret in stored(server)] == [[{"registry": "docker.io", **HUB}, other]]
    assert TOKEN not in client.get(f"/trials/{task_id}-0").text


def test_where_nothing_is_fetched_they_are_not_even_kept(server: Server, client: httpx2.Client, task_id: str) -> None:
    assert sweep(client, task_id, [HUB], environment="local").status_code == 200
    assert stored(server) == []


def test_an_environment_that_cannot_use_them_is_refused_by_name(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    answer = sweep(client, task_id, [HUB], environment="modal")
    assert (answer.status_code, answer.json()["code"]) == (400, "unusable_registry_login")
    assert "'modal'" in answer.json()["detail"]
    assert server.sql("SELECT count(*) FROM trials") == [(0,)]


def test_another_login_asks_for_no_other_trial(client: httpx2.Client, task_id: str) -> None:
    first = sweep(client, task_id, [HUB]).json()
    again = sweep(client, task_id, [{"username": "you", "token": f"{TOKEN}-2"}]).json()
    assert (len(first["new_trial_ids"]), again["new_trial_ids"]) == (1, [])
    assert len(sweep(client, task_id, [], n=2).json()["new_trial_ids"]) == 1


@pytest.mark.parametrize(
    ("logins", "status", "said"),
    [
        ([{**HUB, "registry": "https://ghcr.io/acme"}], 400, "no host of a registry"),
        ([{**HUB, "username": "a:b"}], 400, "user name for the registry docker.io"),
        ([HUB, {**HUB, "registry": "index.docker.io"}], 400, "two logins at the registry docker.io"),
        ([{"token": TOKEN}], 422, "username"),
        ([{**HUB, "secret": TOKEN}], 422, "secret"),
        ([{"username": "acme", "token": {"x": TOKEN}}], 422, "token"),
        ({"docker.io": TOKEN}, 422, "registry_auth"),
    ],
)
def test_malformed_logins_are_refused_without_showing_the_token(
    client: httpx2.Client, task_id: str, logins: Any, status: int, said: str
) -> None:
    answer = sweep(client, task_id, logins)
    assert (answer.status_code, said in answer.text) == (status, True), answer.text
