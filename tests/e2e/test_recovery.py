"""A local stack loses one of its processes while trials run: each trial is recorded once, and nothing is left over."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from oddish import Client
from oddish.client.types import Trial
from oddish.stack import client as stacks
from oddish.stack import process
from oddish.stack.client import Stack
from oddish.stack.layout import layout
from oddish.stack.state import read_state
from support.engine_state import command_line
from support.stack_database import address
from support.waiting import ended, eventually

pytestmark = pytest.mark.long

TRIALS = 4
SECONDS = 3


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stack") / "home"


@pytest.fixture(scope="module")
def stack(home: Path) -> Iterator[Stack]:
    """One for all: it recovers."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ODDISH_HOME", str(home))
        environment.setenv("ODDISH_LEASE_SECONDS", "12")
        environment.setenv("ODDISH_HEARTBEAT_SECONDS", "2")
        yield stacks.ensure()
        stacks.stop()


@pytest.fixture(autouse=True)
def at_home(oddish_home: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_HOME", str(home))


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
    children = psutil.Process(service("worker").pid).children()
    [found] = [child.pid for child in children if "oddish.engine.forkserver" in command_line(child)]
    return found


def one_child() -> int:
    return psutil.Process(fork_server()).children()[0].pid


VICTIMS: dict[str, Callable[[], int]] = {
    "worker": lambda: service("worker").pid,
    "fork server": fork_server,
    "child": one_child,
    "API server": lambda: service("api").pid,
    "PostgreSQL": lambda: service("postgres").pid,
}


def control_groups(of: str) -> list[Path]:
    return list(Path("/sys/fs/cgroup").rglob(f"*{of}*"))


@pytest.mark.parametrize("victim", VICTIMS)
def test_each_trial_is_recorded_once(client: Client, make_task: Callable[..., Path], victim: str) -> None:
    task = client.upload(make_task(f"steady-{victim.replace(' ', '-').lower()}", solve=f"sleep {SECONDS}"))
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
    with psycopg.connect(address()) as connection:
        recorded = connection.execute(
            "SELECT trial_id, count(*) FROM attempts WHERE state = 'finished' AND status = 'success' "
            "AND trial_id = ANY (%s) GROUP BY 1",
            [wanted],
        ).fetchall()
        running = connection.execute("SELECT count(*) FROM jobs WHERE state = 'running'").fetchone()
        counted = connection.execute("SELECT coalesce(sum(running), 0) FROM queue_keys").fetchone()
    assert sorted(recorded) == sorted((trial_id, 1) for trial_id in wanted)
    assert running == counted == (0,)
    eventually(lambda: control_groups(task["task_id"]) == [])


def test_nothing_is_left_of_it_all_when_the_stack_stops(stack: Stack, home: Path) -> None:
    below = process.descendants(stack.pid)
    assert stacks.stop().killed == ()
    assert [entry for entry in below if entry.alive()] == []
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    assert [mount for mount in mounts if mount.startswith(str(home))] == []
