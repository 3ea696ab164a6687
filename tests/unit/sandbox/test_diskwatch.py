"""When a sandbox has to end because of what it holds on disk."""

import os
import time
from pathlib import Path

from oddish.sandbox.diskwatch import DiskWatch, Reserve
from oddish.sandbox.wire import Report

MEBIBYTE = 1024**2


def write(path: Path, megabytes: int) -> None:
    path.write_bytes(os.urandom(megabytes * MEBIBYTE))


def watch(directory: Path, limit_mb: int | None, reserve: Reserve | None = None) -> DiskWatch:
    """Of a sandbox whose processes are nobody's, measured whenever it may be: others write and delete meanwhile."""
    return DiskWatch(str(directory), limit_mb and limit_mb * MEBIBYTE, 0, reserve, longest=0)


def rested_verdict(watched: DiskWatch) -> Report:
    """After the rest that follows a walk."""
    deadline = time.monotonic() + 20
    while (report := watched.verdict()) is None:
        assert time.monotonic() < deadline
    return report


def test_up_to_the_limit_nothing_is_said(tmp_path: Path) -> None:
    watched = watch(tmp_path, 20)
    assert watched.verdict() is None
    write(tmp_path / "a", 20)
    assert watched.verdict() is None


def test_more_than_the_limit_is_said_with_both_sizes(tmp_path: Path) -> None:
    watched = watch(tmp_path, 10)
    for number in range(4):
        write(tmp_path / str(number), 10)
    assert rested_verdict(watched) == {
        "disk_limit": "the sandbox holds 40 MB on disk, more than its 10 MB (storage_mb)"
    }


def test_what_others_write_is_not_blamed_on_the_sandbox(tmp_path: Path) -> None:
    (tmp_path / "sandbox").mkdir()
    watched = watch(tmp_path / "sandbox", 5)
    write(tmp_path / "others", 60)
    assert watched.verdict() is None


def test_on_a_disk_that_is_almost_full_whoever_holds_much_has_to_end(tmp_path: Path) -> None:
    full = Reserve(total=2**62, fair=20 * MEBIBYTE)
    watched = watch(tmp_path, None, full)
    write(tmp_path / "a", 15)
    assert watched.verdict() is None
    write(tmp_path / "b", 15)
    report = rested_verdict(watched)
    assert report["disk_scarce"].startswith("the sandbox holds 30 MB on disk, and this machine has only ")


def test_a_machine_keeps_a_little_for_others(tmp_path: Path) -> None:
    reserve = Reserve.of(str(tmp_path))
    assert 0 < reserve.fair < reserve.total <= 1024 * MEBIBYTE
    assert watch(tmp_path, None).verdict() is None
