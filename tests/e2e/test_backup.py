"""``oddish backup`` beside a running stack, and ``oddish restore`` of it into another home."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oddish import Client
from oddish.stack import client as stacks
from support.command_line import Cli
from support.waiting import ended, eventually


@pytest.fixture
def homes(oddish_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    yield oddish_home, tmp_path / "elsewhere"
    for home in (oddish_home, tmp_path / "elsewhere"):
        monkeypatch.setenv("ODDISH_HOME", str(home))
        stacks.stop()


def submit(client: Client, task: Path) -> str:
    uploaded = client.upload(task)
    answer = client.sweep({"task_id": uploaded["task_id"], "configs": [{"agent": "oracle", "model": None}]})
    [trial_id] = answer["new_trial_ids"]
    return trial_id


def test_what_ran_is_there_after_a_restore_and_what_was_running_runs_again(
    homes: tuple[Path, Path], tmp_path: Path, make_task: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_LEASE_SECONDS", "12")
    monkeypatch.setenv("ODDISH_HEARTBEAT_SECONDS", "2")
    first, second = (Cli(home) for home in homes)
    stack = stacks.ensure()
    with Client(stack.url, stacks.token()) as client:
        before = submit(client, make_task("quick", solve="echo hello > /logs/agent/said.txt"))
        ended(client, before)
        kept = client.evidence.files(before)["files"], client.evidence.logs(before)
        during = submit(client, make_task("slow", solve="sleep 15"))
        eventually(lambda: client.trial(during)["status"] == "running")
        said = first("backup", tmp_path / "backups", "--with-store", "--with-key")
        assert client.trial(during)["status"] == "running"
    assert "2 tasks and 2 trials" in said
    assert "The secret key is in it" in said
    code, said = first.answer("restore", tmp_path / "backups", "--replace")
    assert (code, "The stack is running" in said) == (1, True), said

    assert "2 tasks and 2 trials" in second("restore", tmp_path / "backups")
    monkeypatch.setenv("ODDISH_HOME", str(homes[1]))
    stack = stacks.ensure()
    with Client(stack.url, stacks.token()) as client:
        assert client.trial(before)["reward"] == 1.0
        assert (client.evidence.files(before)["files"], client.evidence.logs(before)) == kept
        assert [trial["reward"] for trial in ended(client, during)] == [1.0]


def test_commands_that_use_another_server_have_nothing_here_to_back_up(
    homes: tuple[Path, Path], tmp_path: Path
) -> None:
    cli = Cli(homes[0])
    cli.environ["ODDISH_API_URL"] = "https://oddish.example.com"
    for command in (("backup", tmp_path / "backups"), ("restore", tmp_path)):
        code, said = cli.answer(*command)
        assert (code, "ODDISH_API_URL names a server" in said) == (1, True), said
