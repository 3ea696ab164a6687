"""A machine sleeps with trials running, for longer than a lease: they go on where they were when it wakes."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from oddish import Client
from oddish.stack import client as stacks
from oddish.stack import process
from oddish.stack.client import Stack
from support.stack_database import address
from support.waiting import ended, eventually

TRIALS = 2
LEASE_SECONDS = 12
SLEEP_SECONDS = 15.0


@pytest.fixture
def stack(oddish_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    monkeypatch.setenv("ODDISH_LEASE_SECONDS", str(LEASE_SECONDS))
    monkeypatch.setenv("ODDISH_HEARTBEAT_SECONDS", "1")
    yield stacks.ensure()
    stacks.stop()


def sleep_and_wake(stack: Stack, seconds: float) -> None:
    """Stop every process of the stack and its sandboxes, as a machine that is suspended does."""
    everything = [process.Process(stack.pid, stack.state.process_started), *process.descendants(stack.pid)]
    for entry in everything:
        os.kill(entry.pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)  # the time that passes is what this is about
    finally:
        for entry in everything:
            entry.send(signal.SIGCONT)


def test_trials_outlive_the_sleep_of_their_machine(stack: Stack, make_task: Callable[..., Path]) -> None:
    with Client(stack.url, stacks.token()) as client:
        task = client.upload(make_task("dreaming", solve="sleep 12"))
        answer = client.sweep(
            {"task_id": task["task_id"], "configs": [{"agent": "oracle", "model": None, "n_trials": TRIALS}]}
        )
        wanted = answer["new_trial_ids"]
        eventually(lambda: all(client.trial(trial_id)["harbor_stage"] == "agent_running" for trial_id in wanted))
        sleep_and_wake(stack, SLEEP_SECONDS)
        done = ended(client, *wanted)
    assert [(trial["status"], trial["reward"], trial["attempts"]) for trial in done] == [("success", 1.0, 1)] * TRIALS
    with psycopg.connect(address()) as connection:
        states = connection.execute("SELECT trial_id, state FROM attempts").fetchall()
    assert sorted(states) == sorted((trial_id, "finished") for trial_id in wanted)
    found = stacks.find(probe=True)
    assert found is not None
    assert found.pid == stack.pid
