"""What a submission makes of agents' web tools, and of trials that nobody verifies."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from .serving import Server, TaskFolder

CLOSED = """
schema_version = "1.4"
[agent]
timeout_sec = 60.0
network_mode = "allowlist"
allowed_hosts = ["pypi.example"]
"""
CLAUDE = {"agent": "claude-code", "model": "anthropic/claude-sonnet-4-5"}
OFF = {"disallowed_tools": "WebSearch,WebFetch"}


@pytest.fixture(autouse=True)
def workers(server: Server) -> None:
    server.offer("docker")


def sweep(client: httpx2.Client, task_id: object, config: dict[str, Any], **more: Any) -> list[str]:
    body = {"task_id": task_id, "configs": [config], "experiment_id": "e", **more}
    answer = client.post("/tasks/sweep", json=body)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["new_trial_ids"])


def shown(client: httpx2.Client, trial_id: str) -> Any:
    return client.get(f"/trials/{trial_id}").json()["agent_config"]["kwargs"]


def test_they_are_off_on_a_closed_task_and_the_trial_shows_it(
    client: httpx2.Client, new_task: Callable[..., TaskFolder]
) -> None:
    closed = new_task("closed", config=CLOSED).upload(client)["task_id"]
    plain = new_task("plain").upload(client)["task_id"]
    [off], [on] = (sweep(client, task_id, CLAUDE) for task_id in (closed, plain))
    assert (shown(client, off), shown(client, on)) == (OFF, {})
    assert sweep(client, closed, CLAUDE) == []


@pytest.mark.parametrize(("disable", "kwargs"), [(True, OFF), (False, {"disable_web_search": False})])
def test_a_submission_can_say_what_it_wants(
    client: httpx2.Client, new_task: Callable[..., TaskFolder], disable: bool, kwargs: dict[str, Any]
) -> None:
    for name, config in (("closed", CLOSED), ("plain", None)):
        task = new_task(name, config=config) if config else new_task(name)
        [trial_id] = sweep(
            client, task.upload(client)["task_id"], {**CLAUDE, "agent_config": {"disable_web_tools": disable}}
        )
        assert shown(client, trial_id) == kwargs


def test_a_trial_that_nobody_verified_does_not_stand_for_one_that_is(
    client: httpx2.Client, new_task: Callable[..., TaskFolder]
) -> None:
    task_id = new_task().upload(client)["task_id"]
    unverified = {"harbor": {"verifier": {"disable": True}}}
    assert len(sweep(client, task_id, {"agent": "nop"}, **unverified)) == 1
    assert sweep(client, task_id, {"agent": "nop"}, **unverified) == []
    assert len(sweep(client, task_id, {"agent": "nop"})) == 1
