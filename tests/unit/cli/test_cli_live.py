"""The live view: every terminal, every size of run."""

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from rich.cells import cell_len
from rich.console import Console

from oddish.cli.live import LiveProgress
from oddish.cli.watch import Outage, Snapshot
from oddish.client.types import Task, Trial

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
STATUSES = ("success", "running", "queued", "failed", "retrying", "success", "success")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def run(count: int, kinds: list[tuple[str, str | None]], *, tasks: int = 1, name: str = "greet") -> Snapshot:
    """``count`` trials of a run under way, an agent and a task after the other."""
    made = []
    for number in range(count):
        agent, model = kinds[number % len(kinds)]
        status = STATUSES[number // len(kinds) % len(STATUSES)]
        task = f"t{number % tasks}-00000000"
        started = (NOW - timedelta(seconds=100)).isoformat() if status != "queued" else None
        ended = (NOW - timedelta(seconds=40)).isoformat() if status in ("success", "failed") else None
        made.append(
            {
                "id": f"{task}-{number}", "task_id": task, "agent": agent, "model": model, "status": status,
                "harbor_stage": "agent_running", "error_message": None, "queue_info": None, "attempts": 1,
                "max_attempts": 6, "reward": 0.5 if status == "success" else None, "started_at": started,
                "finished_at": ended,
            }
        )  # fmt: skip
    described = [cast("Task", {"id": f"t{number}-00000000", "name": f"{name}-{number}"}) for number in range(tasks)]
    return Snapshot(described, cast("list[Trial]", made), NOW)


class Screen:
    """A terminal of a size, and what is drawn on it."""

    def __init__(self, width: int, height: int = 40, **options: Any) -> None:
        self.written = io.StringIO()
        self.now = 0.0
        self.console = Console(
            file=self.written, width=width, height=height, force_terminal=True, markup=False, highlight=False, **options
        )
        self.progress = LiveProgress(self.console, clock=lambda: self.now, frames_per_second=0.001)

    def show(self, snapshot: Snapshot) -> list[str]:
        """The lines of the frame that shows ``snapshot``."""
        self.progress.update(snapshot)
        return self.frame()

    def frame(self) -> list[str]:
        self.written.seek(0)
        self.written.truncate()
        self.progress.refresh()
        return [line.rstrip() for line in CONTROL.sub("", self.written.getvalue()).replace("\r", "").splitlines()]


@pytest.fixture
def screens() -> Iterator[list[Screen]]:
    opened: list[Screen] = []
    yield opened
    for screen in opened:
        screen.progress.close()


@pytest.fixture
def screen(screens: list[Screen]) -> Any:
    def open_one(width: int, height: int = 40, **options: Any) -> Screen:
        screens.append(Screen(width, height, **options))
        return screens[-1]

    return open_one


def test_several_agents_have_a_bar_each(screen: Any) -> None:
    lines = screen(140).show(run(28, [("claude-code", "anthropic/opus"), ("codex", "openai/gpt-5")]))
    numbers = r"8/14  2 running, 2 retrying, 2 failed  mean reward 0\.5 \(6 scored, 0 passed\)"
    assert re.fullmatch(rf"claude-code anthropic/opus ━+╸━+ {numbers}", lines[0])
    assert re.fullmatch(rf"codex openai/gpt-5 +━+╸━+ {numbers}", lines[1])
    assert lines[2] == "16/28 done: 4 queued, 4 running, 4 retrying, 12 success, 4 failed"
    assert lines[3] == "mean reward 0.5 (12 scored, 0 passed)  about 2 min left"


def test_a_few_tasks_have_a_bar_each_and_one_task_has_one(screen: Any) -> None:
    lines = screen(140).show(run(14, [("nop", None)], tasks=2))
    assert [line.split()[0] for line in lines[:2]] == ["greet-0", "greet-1"]
    lines = screen(140).show(run(14, [("nop", None)]))
    assert re.fullmatch(r"━+╸━+ 8/14 done: 2 queued, 2 running, 2 retrying, 6 success, 2 failed", lines[0])


@pytest.mark.parametrize("width", [1, 10, 40, 79, 80, 109, 110, 200])
@pytest.mark.parametrize(("agents", "tasks"), [(1, 1), (1, 5), (2, 3), (300, 1)])
@pytest.mark.parametrize("name", ["greet", "a" * 300, "長い名前" * 50])
def test_no_line_is_wider_than_the_terminal(screen: Any, width: int, agents: int, tasks: int, name: str) -> None:
    kinds: list[tuple[str, str | None]] = [(f"{name}{number}", f"provider/{name}") for number in range(agents)]
    lines = screen(width, 24).show(run(agents * 7, kinds, tasks=tasks, name=name))
    assert lines
    assert max(map(cell_len, lines)) <= width
    assert len(lines) <= 24


def test_forty_columns_are_enough_for_the_numbers(screen: Any) -> None:
    lines = screen(40).show(run(14, [("claude-code", "anthropic/claude-sonnet-4-5"), ("codex", "openai/gpt-5")]))
    assert lines[0] == "claude-code anthropic/claude-sonnet-4-5"
    assert lines[1].endswith("4/7  1 running, 1 retrying, 1 fa…")
    assert lines[2] == "mean reward 0.5 (3 scored, 0 passed)"
    assert "agent at work" in "\n".join(lines)


def test_without_colour_there_is_none(screen: Any) -> None:
    plain = screen(100, no_color=True, color_system="truecolor")
    plain.show(run(14, [("nop", None)]))
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", plain.written.getvalue())
    coloured = screen(100, color_system="truecolor")
    coloured.show(run(14, [("nop", None)]))
    assert re.search(r"\x1b\[[0-9;]*3[0-9]", coloured.written.getvalue())


class Counted(list[Trial]):
    """Trials that count how often somebody goes through all of them."""

    passes = 0

    def __iter__(self) -> Iterator[Trial]:
        self.passes += 1
        return super().__iter__()


def test_ten_thousand_trials_are_gone_through_once_for_all_frames(screen: Any) -> None:
    large = run(10_000, [("nop", None), ("oracle", None)], tasks=50)
    trials = Counted(large.trials)
    view = screen(100, 24)
    lines = view.show(Snapshot(large.tasks, trials, NOW))
    assert len(lines) <= 24
    assert re.fullmatch(r"and 42\d\d more", lines[-1])
    passes = trials.passes
    for _ in range(50):
        view.frame()
    assert trials.passes == passes


def test_the_time_of_a_trial_goes_on_between_snapshots_by_the_clock_of_the_server(screen: Any) -> None:
    view = screen(100)
    assert "1m40s" in "\n".join(view.show(run(7, [("nop", None)])))
    view.now += 20
    assert "2m00s" in "\n".join(view.frame())


def test_an_outage_is_said_until_the_next_snapshot(screen: Any) -> None:
    view = screen(100)
    view.progress.outage(Outage("The server is away.", 4))
    text = " ".join(view.frame()[-2:])
    assert text.startswith(
        "The server is away. Trying again; the trials go on meanwhile. The watch ends after 10 minutes"
    )
    assert "away" not in "\n".join(view.show(run(7, [("nop", None)])))
