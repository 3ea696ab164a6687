"""A local stack loses one of its processes while trials run: each trial is recorded once, and nothing is left over."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from oddish import Client
from oddish.client.types import Trial
from oddish.db.url import plain
from oddish.stack import client as stacks
from oddish.stack import process
from oddish.stack.client import Stack
from oddish.stack.layout import layout
from oddish.stack.state import read_state
from support.waiting import ended, eventually

pytestmark = pytest.mark.long

TRIALS = 4
SECONDS = 6


@pytest.fixture
def stack(oddish_home: Path) -> Iterator[Stack]:
    yield stacks.ensure()
    stacks.stop()


@pytest.fixture
def client(stack: Stack) -> Iterator[Client]:
    with Client(stack.url, stacks.token()) as client:
        yield client


def service(name: str) -> process.Process:
    state = read_state(layout())
    assert state is not None
    found = state.services.get(name)
    assert found is not None, f"{name} does not run"
    return found


def fork_server() -> int:
    [found] = [
        entry.pid
        for entry in process.descendants(service("worker").pid)
        if b"oddish.engine.forkserver" in Path(f"/proc/{entry.pid}/cmdline").read_bytes()
        and Path(f"/proc/{entry.pid}/stat").read_text().rpartition(")")[2].split()[1] == str(service("worker").pid)
    ]
    return found


def one_child() -> int:
    return next(
        entry.pid
        for entry in process.descendants(fork_server())
        if Path(f"/proc/{entry.pid}/stat").read_text().rpartition(")")[2].split()[1] == str(fork_server())
    )


VICTIMS: dict[str, Callable[[], int]] = {
    "worker": lambda: service("worker").pid,
    "fork server": fork_server,
    "child": one_child,
    "API server": lambda: service("api").pid,
    "PostgreSQL": lambda: service("postgres").pid,
}


def left_over(home: Path, task_id: str) -> list[str]:
    """Mounts below ``home`` and control groups of the task's attempts."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    groups = [str(path) for path in Path("/sys/fs/cgroup").rglob(f"*{task_id}*")]
    return [mount for mount in mounts if mount.startswith(str(home))] + groups


@pytest.mark.parametrize("victim", VICTIMS)
def test_each_trial_is_recorded_once(
    client: Client, make_task: Callable[..., Path], oddish_home: Path, victim: str
) -> None:
    task = client.upload(make_task("steady", solve=f"sleep {SECONDS}"))
    answer = client.sweep(
        {"task_id": task["task_id"], "configs": [{"agent": "oracle", "model": None, "n_trials": TRIALS}]}
    )
    wanted = answer["new_trial_ids"]

    def trials() -> list[Trial]:
        return [client.trial(trial_id) for trial_id in wanted]

    eventually(lambda: sum(trial["harbor_stage"] == "agent_running" for trial in trials()) >= 2)
    os.kill(VICTIMS[victim](), signal.SIGKILL)
    done = ended(client, *wanted)
    assert [(trial["status"], trial["reward"]) for trial in done] == [("success", 1.0)] * TRIALS
    charged = sorted(trial["attempts"] for trial in done)
    assert charged == ([1] * (TRIALS - 1) + [2] if victim == "child" else [1] * TRIALS)
    with psycopg.connect(database_url()) as connection:
        recorded = connection.execute(
            "SELECT trial_id, count(*) FROM attempts WHERE state = 'finished' AND status = 'success' GROUP BY 1"
        ).fetchall()
        running = connection.execute("SELECT count(*) FROM jobs WHERE state = 'running'").fetchone()
        counted = connection.execute("SELECT coalesce(sum(running), 0) FROM queue_keys").fetchone()
    assert sorted(recorded) == sorted((trial_id, 1) for trial_id in wanted)
    assert running == counted == (0,)
    below = process.descendants(read_pid())
    assert stacks.stop().killed == ()
    assert [entry for entry in below if entry.alive()] == []
    assert left_over(oddish_home, task["task_id"]) == []


def read_pid() -> int:
    state = read_state(layout())
    assert state is not None
    return state.pid


def database_url() -> str:
    environment = Path(f"/proc/{service('worker').pid}/environ").read_bytes().split(b"\0")
    [url] = [entry.split(b"=", 1)[1].decode() for entry in environment if entry.startswith(b"ODDISH_DATABASE_URL=")]
    return plain(url)
