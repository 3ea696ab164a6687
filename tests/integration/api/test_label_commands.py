"""``oddish tag``, ``publish``, ``unpublish`` and the labels of ``oddish run``, against a real server."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner, Result

from oddish.cli import cli

from .serving import KEY, Server, TaskFolder

type Invoke = Callable[..., Result]


@pytest.fixture
def invoke(server: Server, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("ODDISH_API_URL", server.url)
    monkeypatch.setenv("ODDISH_API_KEY", KEY)
    return lambda *arguments: CliRunner().invoke(cli, [str(argument) for argument in arguments])


def run_json(invoke: Invoke, folder: Path, *options: str) -> dict[str, object]:
    result = invoke("run", folder, "-a", "nop", "-e", "local", "--json", *options)
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def test_a_run_tags_links_and_publishes(
    server: Server, invoke: Invoke, client: httpx2.Client, new_task: Callable[..., TaskFolder]
) -> None:
    server.offer()
    folder = new_task().path
    options = ("--tag", "wip", "--tag", "suite=nightly", "--link", "https://example.com/12", "--publish", "-E", "mine")
    document = run_json(invoke, folder, *options, "-G", "octocat", "--github-meta", '{"pr": 12}', "--run-probe")
    share = client.get("/experiments/mine/share").json()
    url = f"{server.url}/public/experiments/{share['public_token']}"
    assert document["public_experiment_url"] == url
    assert server.client(None).get(url).json()["name"] == "mine"
    (task,) = client.get("/tasks").json()
    assert task["user_tags"] == {"wip": "", "suite": "nightly"}
    assert (task["link"], task["github_username"]) == ("https://example.com/12", "octocat")
    assert (task["github_meta"], task["run_probe"], task["run_analysis"]) == ({"pr": 12}, True, False)
    text = invoke("run", folder, "-a", "nop", "-E", "mine", "--publish", "-b").output
    assert f"Whoever has this link can read the experiment: {url}" in text
    assert run_json(invoke, folder, "-E", "other")["public_experiment_url"] is None
    run_json(invoke, folder, "-E", "mine", "--force-new-version")
    assert client.get("/tasks").json()[0]["current_version"] == 2


def test_a_task_is_tagged_and_untagged(
    server: Server, invoke: Invoke, client: httpx2.Client, new_task: Callable[..., TaskFolder]
) -> None:
    task_id = str(new_task().upload(client)["task_id"])
    assert invoke("tag", task_id).output == f"Task {task_id}  has no tags\n"
    assert invoke("tag", task_id, "+wip", "+hard", "+suite=a").output == f"Task {task_id}  hard, suite=a, wip\n"
    changed = json.loads(invoke("tag", task_id, "-wip", "-hard", "+suite=b", "--json").stdout)
    assert changed == {"task_id": task_id, "name": "hello", "user_tags": {"suite": "b"}}
    assert json.loads(invoke("tag", "--json", task_id).stdout) == changed
    unknown = invoke("tag", "absent-00000000", "+a")
    assert (unknown.exit_code, "absent-00000000" in unknown.output) == (1, True)


def test_an_experiment_is_published_and_taken_back(
    server: Server, invoke: Invoke, client: httpx2.Client, new_task: Callable[..., TaskFolder]
) -> None:
    server.offer()
    run_json(invoke, new_task().path, "-E", "mine")
    published = json.loads(invoke("publish", "mine", "--json").stdout)
    assert published["public_url"] == f"{server.url}/public/experiments/{published['public_token']}"
    assert published["public_url"] in invoke("publish", published["id"]).output
    taken_back = json.loads(invoke("unpublish", "mine", "--json").stdout)
    assert (taken_back["is_public"], taken_back["public_url"]) == (False, None)
    assert "leads nowhere" in invoke("unpublish", "mine").output
    assert server.client(None).get(published["public_url"]).status_code == 404
    absent = invoke("publish", "absent", "--json")
    assert (absent.exit_code, json.loads(absent.stdout)["code"]) == (1, "not_found")


def test_a_task_is_found_by_its_name_wherever_a_task_is_meant(
    server: Server, invoke: Invoke, client: httpx2.Client, new_task: Callable[..., TaskFolder], tmp_path: Path
) -> None:
    server.offer()
    task_id = str(new_task().upload(client)["task_id"])
    added = invoke("run", "--task", "hello", "-a", "nop", "-e", "local", "-E", "mine", "-b")
    assert (added.exit_code, "1 trial queued." in added.output) == (0, True)
    assert json.loads(invoke("status", "hello", "--json").stdout)["trials"][0]["id"] == f"{task_id}-0"
    assert json.loads(invoke("tag", "hello", "+wip", "--json").stdout)["task_id"] == task_id
    assert f"Task {task_id}  wip" in invoke("tag", "hello").output
    assert json.loads(invoke("status", "hello", "--versions", "--json").stdout)[0]["task_id"] == task_id
    assert json.loads(invoke("status", "hello", "--detail", "--json").stdout)["task"]["id"] == task_id
    assert json.loads(invoke("pull", "hello", "--out", tmp_path / "here", "--json").stdout)["target_id"] == task_id
    assert json.loads(invoke("cancel", "hello", "--json").stdout)["trials_cancelled"] == 1
    assert json.loads(invoke("run", "hello", "--retry", "--json").stdout)["trials"][0]["trial_id"] == f"{task_id}-0"
    assert json.loads(invoke("delete", "hello", "--json").stdout)["deleted"] == task_id
    for command in ("status", "tag", "delete", "cancel", "pull"):
        gone = invoke(command, "hello", "--json")
        assert (gone.exit_code, json.loads(gone.stdout)["code"]) == (1, "not_found"), command
