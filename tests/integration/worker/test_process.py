"""A worker as a process."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from oddish.db.url import plain


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "full"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("a disk of a chosen size cannot be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def refusal(database_url: str, home: Path) -> str:
    settings = {**os.environ, "ODDISH_HOME": str(home), "ODDISH_DATABASE_URL": database_url}
    command = [sys.executable, "-m", "oddish.worker"]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_database_that_fails_while_the_worker_starts_is_named(database_url: str, oddish_home: Path) -> None:
    with psycopg.connect(plain(database_url), autocommit=True) as connection:
        connection.execute("ALTER TABLE workers RENAME TO workers_of_yesterday")
    assert "The database cannot be used: relation" in refusal(database_url, oddish_home)


def test_a_full_disk_that_a_worker_starts_on_is_named(database_url: str, full_disk: Path) -> None:
    (full_disk / "filler").write_bytes(b"x" * 12 * 1024)
    assert "There is no room on the disk: [Errno 28]" in refusal(database_url, full_disk)
