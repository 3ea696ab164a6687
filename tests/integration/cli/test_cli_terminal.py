"""The command as a process on a terminal: the live view and what Ctrl-C does to it."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

PROGRAM = [sys.executable, "-c", "from oddish.cli import main; main()"]


class Terminal:
    def __init__(self, *arguments: str, columns: int = 120, **variables: str) -> None:
        self._master, slave = pty.openpty()
        environ = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "40"} | variables
        self.process = subprocess.Popen([*PROGRAM, *arguments], stdin=slave, stdout=slave, stderr=slave, env=environ)
        os.close(slave)
        self.output = ""

    def read(self) -> bool:
        with suppress(OSError):
            data = os.read(self._master, 65536)
            self.output += data.decode(errors="replace")
            return bool(data)
        return False

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + 20
        while text not in self.output:
            assert time.monotonic() < deadline, self.output
            assert self.read(), self.output

    def wait(self) -> int:
        while self.read():
            pass
        return self.process.wait(20)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def test_the_live_view_gives_way_to_the_results(server: Any, make_task_dir: Any, terminals: list[Terminal]) -> None:
    def work(fake: Any) -> None:
        for trial in fake.trials():
            if trial["harbor_stage"] == "agent_running":
                trial.update(status="success", reward=1.0, harbor_stage="completed")
            else:
                trial.update(status="running", harbor_stage="agent_running", started_at="2026-01-01T00:00:00Z")

    server.tick = work
    terminal = Terminal("run", str(make_task_dir()), "-a", "oracle")
    terminals.append(terminal)
    assert terminal.wait() == 0, terminal.output
    assert "agent at work" in terminal.output
    after = terminal.output.rpartition("1/1 done: 1 success")[2]
    assert re.search(r"greet\s+oracle\s+–\s+1\s+1\s+1\s+1/1", after)


@pytest.mark.parametrize("variables", [{}, {"TERM": "dumb"}, {"NO_COLOR": "1"}, {"PYTHONIOENCODING": "ascii"}])
def test_any_terminal_will_do_to_watch(server: Any, terminals: list[Terminal], variables: dict[str, str]) -> None:
    long = "an-unusually-long-name-of-a-task-that-fills-a-line-of-a-terminal"
    task = server.add_task(f"{long}-00000001", experiment_name="calm-fern-0001")
    for agent in ("claude-code", "codex"):
        server.add_trial(task, status="running", agent=agent, model=f"provider/{'m' * 100}")
    asked = iter(range(100))
    server.tick = lambda fake: (
        next(asked) > 2 and [trial.update(status="success", reward=1.0) for trial in fake.trials()]
    )
    terminal = Terminal("status", "-e", "calm-fern-0001", "--watch", columns=40, **variables)
    terminals.append(terminal)
    assert terminal.wait() == 0, terminal.output
    assert "running" in terminal.output
    assert ("\x1b[" in terminal.output) is ("TERM" not in variables)
    assert "2/2 done: 2 success" in terminal.output


@pytest.mark.parametrize("columns", [40, 80])
def test_ids_are_never_broken(server: Any, terminals: list[Terminal], columns: int) -> None:
    task = server.add_task("convert-csv-to-parquet-1a2b3c4d", experiment_name="nightly-regression-of-the-week")
    for status in ("failed", "success", "running", "retrying", "queued"):
        server.add_trial(task, status=status, error_message="why it ended so, in many words " * 4, agent="claude-code")
    for arguments, name in (
        ((), "nightly-regression-of-the-week"),
        (("-e", "nightly-regression-of-the-week"), "convert-csv-to-parquet-1a2b3c4d-0"),
    ):
        terminals.append(Terminal("status", *arguments, columns=columns))
        assert terminals[-1].wait() == 0, terminals[-1].output
        assert name in terminals[-1].output


def test_ctrl_c_detaches(server: Any, make_task_dir: Any, terminals: list[Terminal]) -> None:
    terminal = Terminal("run", str(make_task_dir()), "-a", "oracle", "-E", "calm-fern-1234")
    terminals.append(terminal)
    terminal.wait_for("0/1 done: 1 queued")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.wait() == 130, terminal.output
    assert "oddish status -e calm-fern-1234 --watch" in terminal.output
    assert "Traceback" not in terminal.output
    assert [trial["status"] for trial in server.trials()] == ["queued"]


def test_ctrl_c_while_sending(server: Any, make_task_dir: Any, terminals: list[Terminal]) -> None:
    server.refusals["POST", "/tasks/upload/init"] = (503, {"detail": "busy"})
    terminal = Terminal("run", str(make_task_dir()), "-a", "oracle")
    terminals.append(terminal)
    terminal.wait_for("sending 1 task")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.wait() == 130, terminal.output
    assert "Interrupted." in terminal.output
    assert "Traceback" not in terminal.output


def test_many_tasks_are_sent_under_one_bar(
    server: Any, make_task_dir: Any, terminals: list[Terminal], tmp_path: Path
) -> None:
    server.versions = (2, 1)
    for name in ("a", "bb", "ccc"):
        make_task_dir(name, tmp_path / "set")
    terminal = Terminal("run", str(tmp_path / "set"), "-a", "nop", "-b")
    terminals.append(terminal)
    assert terminal.wait() == 0, terminal.output
    drawn, _, after = terminal.output.rpartition("3 uploaded, 3 submitted of 3")
    assert "Task a changed: version 1 -> 2" in drawn
    assert "3 trials queued." in after
