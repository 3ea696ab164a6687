"""Sweeping beside sandboxes that start and end: every step of the one is interrupted by the other."""

import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from oddish import removal
from oddish.sandbox import sweep as module
from oddish.sandbox.sweep import claim, sweep


@contextmanager
def before_each_line(of: CodeType, act: Callable[[int], None]) -> Iterator[None]:
    """Call ``act`` with 0, 1, 2 … before each line that the function with the code ``of`` runs."""
    count = 0

    def on_line(_: FrameType, event: str, __: Any) -> Any:
        nonlocal count
        if event == "line":
            number, count = count, count + 1
            act(number)
        return on_line

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: on_line if frame.f_code is of else None)
    try:
        yield
    finally:
        sys.settrace(before)


def end(directory: Path, lock: int) -> None:
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    os.close(lock)


def test_a_sandbox_is_spared_at_every_step_of_its_start(tmp_path: Path) -> None:
    swept: list[tuple[str, ...]] = []
    with before_each_line(claim.__code__, lambda _: swept.append(sweep(tmp_path))):
        lock = claim(tmp_path / "starting", "starting")
    assert len(swept) > 4
    assert not any(swept)
    assert (tmp_path / "starting" / module.LOCK).read_text() == "starting"
    os.close(lock)


@pytest.mark.parametrize("step", range(12))
def test_a_sandbox_that_takes_an_ended_ones_directory_is_spared(tmp_path: Path, step: int) -> None:
    directory = tmp_path / "used"
    locks = [claim(directory, "used")]

    def replace(number: int) -> None:
        if number == step:
            end(directory, locks.pop())
            locks.append(claim(directory, "used"))

    with before_each_line(sweep.__code__, replace):
        assert sweep(tmp_path) == ()
    assert (directory / module.LOCK).exists()
    os.close(locks.pop())


def test_what_nobody_keeps_is_removed(tmp_path: Path) -> None:
    os.close(claim(tmp_path / "left", "left"))
    kept = claim(tmp_path / "kept", "kept")
    assert sweep(tmp_path) == ("left",)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    os.close(kept)


def test_a_sandbox_that_a_full_disk_refuses_leaves_nothing(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(OSError, match="large"):
            claim(tmp_path / "refused", "refused")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


def test_a_claim_that_was_cut_off_long_ago_is_removed(tmp_path: Path) -> None:
    for name, age in (("old", 7200), ("young", 10)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lock.new").touch()
        os.utime(tmp_path / name / "lock.new", (time.time() - age, time.time() - age))
    assert sweep(tmp_path) == ()
    assert [path.name for path in tmp_path.iterdir()] == ["young"]


def test_what_was_not_deleted_to_the_end_is_deleted_by_the_next_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever deletes can be killed when the lock is gone and the rest is not."""
    (tmp_path / "used" / "upper").mkdir(parents=True)
    (tmp_path / "used" / "upper" / "file").touch()
    with monkeypatch.context() as killed:
        killed.setattr(removal, "delete", lambda directory: None)
        removal.discard(str(tmp_path / "used"))
    assert len(list(tmp_path.rglob("*"))) == 3
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []
