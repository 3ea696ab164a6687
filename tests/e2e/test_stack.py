"""The local stack with its real API server and worker."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from oddish.errors import Unavailable
from oddish.stack import client, process
from oddish.stack.client import Stack
from oddish.stack.layout import layout
from oddish.stack.state import read_state
from support.waiting import eventually


@pytest.fixture
def stack(oddish_home: Path) -> Iterator[Stack]:
    yield client.ensure()
    client.stop()


def running(name: str) -> process.Process | None:
    state = read_state(layout())
    return state.services.get(name) if state else None


def test_it_starts_answers_and_leaves_nothing(stack: Stack) -> None:
    assert stack.state.notes == () or "Port" in stack.state.notes[0]
    assert stack.healthy()
    eventually(lambda: "worker ready" in layout().log("worker").read_text())
    below = process.descendants(stack.pid)
    assert client.stop().killed == ()
    assert [entry for entry in below if entry.alive()] == []


def test_a_setting_that_cannot_be_read_ends_the_start_and_leaves_nothing(
    oddish_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_MODEL_CONCURRENCY_OVERRIDES", "{bad")
    with pytest.raises(Unavailable, match="ODDISH_MODEL_CONCURRENCY_OVERRIDES cannot be read"):
        client.ensure()
    assert str(client.stop()) == "No stack is running."
    monkeypatch.delenv("ODDISH_MODEL_CONCURRENCY_OVERRIDES")
    assert client.ensure().healthy()
    client.stop()


def test_each_killed_process_comes_back(stack: Stack) -> None:
    for name in ("api", "worker", "postgres"):
        first = running(name)
        assert first is not None
        os.kill(first.pid, signal.SIGKILL)
        eventually(lambda: running(name) not in (None, first))  # noqa: B023 - used before the next turn
        eventually(stack.healthy)
    assert client.ensure().pid == stack.pid
    assert client.stop().killed == ()


def test_nothing_survives_a_killed_supervisor_and_the_next_start_works(stack: Stack) -> None:
    eventually(lambda: "worker ready" in layout().log("worker").read_text())
    below = process.descendants(stack.pid)
    os.kill(stack.pid, signal.SIGKILL)
    assert process.wait_gone(below, 60) == []
    second = client.ensure()
    assert second.pid != stack.pid
    assert second.healthy()
