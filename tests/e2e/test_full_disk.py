"""The disk of a local stack fills up while it works, and gets room again. Only root can make such a disk."""

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from oddish import Client
from oddish.room import MIB
from oddish.stack import account, binaries
from oddish.stack import client as stacks
from oddish.stack.client import Stack
from oddish.stack.cluster import Cluster
from oddish.stack.layout import layout
from support.command_line import Cli
from support.stack_database import address
from support.waiting import ended, eventually


@pytest.fixture
def disk(oddish_home: Path) -> Iterator[Path]:
    """A disk of 600 MiB that is the home directory."""
    oddish_home.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=600m", "tmpfs", str(oddish_home)]
    if shutil.which("mount") is None or subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("a disk of a chosen size cannot be mounted here")
    yield oddish_home
    stacks.stop()
    subprocess.run(["umount", "--lazy", str(oddish_home)], check=True)


@pytest.fixture
def stack(disk: Path) -> Stack:
    return stacks.ensure()


def waits(client: Client, trial_id: str) -> str | None:
    """For what."""
    info = client.trial(trial_id).get("queue_info")
    return info["reason"] if info else None


def fill(disk: Path, *, leaving: int) -> Path:
    """Take all space of the disk but ``leaving`` bytes."""
    filler = disk / "filler"
    block = bytes(MIB)
    with filler.open("wb", buffering=0) as file:
        while (room := shutil.disk_usage(disk).free - leaving) > 0:
            if file.write(block[: min(room, MIB)]) < min(room, MIB):
                break
    return filler


def use_up_the_log_of_changes() -> None:
    """Write until PostgreSQL finds no room for it."""
    with contextlib.suppress(psycopg.Error), psycopg.connect(address(), autocommit=True) as connection:
        while True:
            connection.execute("UPDATE organisations SET name = name || ''")


def test_a_full_disk_is_named_and_everything_goes_on_when_there_is_room(
    stack: Stack, disk: Path, examples: Path
) -> None:
    cli = Cli(disk)
    cli("run", examples / "hello-world", "-a", "oracle", "-E", "before")
    filler = fill(disk, leaving=0)
    use_up_the_log_of_changes()
    for command in (("status",), ("run", examples / "hello-world", "-a", "oracle")):
        code, said = cli.answer(*command)
        assert code == 1
        assert f"The disk of {disk} has only" in said
        assert "Fix: Free some space on that disk" in said
    filler.unlink()
    eventually(lambda: "has room again" in layout().log("stack").read_text())
    eventually(lambda: cli.answer("status")[0] == 0)
    cli("run", examples / "hello-world", "-a", "oracle", "-E", "after")
    listed = cli("status")
    assert "before" in listed
    assert "after" in listed
    found = stacks.find()
    assert found is not None
    assert found.pid == stack.pid
    stacks.stop()
    programs = binaries.installed()[0]
    data = layout().postgres / str(programs.major)
    checked = Cluster(data, data, programs, account.current()).run("pg_checksums", "--check", "-D", str(data))
    assert "Bad checksums:  0" in checked


def test_no_trial_begins_on_a_disk_that_is_nearly_full(
    stack: Stack, disk: Path, make_task: Callable[..., Path]
) -> None:
    with Client(stack.url, stacks.token()) as client:
        task = client.upload(make_task("waiting", solve="true"))
        filler = fill(disk, leaving=100 * MIB)
        answer = client.sweep({"task_id": task["task_id"], "configs": [{"agent": "oracle", "model": None}]})
        [trial_id] = answer["new_trial_ids"]
        eventually(lambda: "nothing is claimed until the disk has room" in layout().log("worker").read_text())
        assert client.trial(trial_id)["status"] == "queued"
        eventually(lambda: "of disk left and begins nothing below" in (waits(client, trial_id) or ""))
        assert any("no trial begins below" in line for line in stack.notices())
        filler.unlink()
        assert [trial["reward"] for trial in ended(client, trial_id)] == [1.0]
