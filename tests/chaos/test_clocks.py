"""Clocks that jump do so in the processes that are meant, and nowhere else."""

import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from chaos.clocks import Clock, library, postgres_on
from chaos.settling import wait
from oddish.stack.binaries import SETTING
from oddish.stack.postgres import EmbeddedPostgres
from support.programs import environment

SAYING = """
import datetime, sys, time
for _ in sys.stdin:
    print(time.time(), datetime.datetime.now(datetime.UTC).timestamp(), time.monotonic(), flush=True)
"""


def test_a_worker_follows_its_clock_and_only_that(tmp_path: Path) -> None:
    clock = Clock(tmp_path / "clock")
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", SAYING],
        env=environment({"PATH": "/usr/bin:/bin"}, clock.for_worker),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def off() -> tuple[float, float, float]:
            stdin.write("\n")
            now, today, monotonic = map(float, stdout.readline().split())
            return now - time.time(), today - time.time(), monotonic - time.monotonic()

        assert off() == pytest.approx((0, 0, 0), abs=1)
        for jump in (30.0, -20.0, 0.0):
            clock.jump(jump)
            assert wait(lambda jump=jump: off() == pytest.approx((jump, jump, 0), abs=1), 10)  # type: ignore[misc]
        stdin.close()


@pytest.mark.skipif(library() is None, reason="libfaketime is not installed")
def test_a_database_follows_its_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, faketime = Clock(tmp_path / "clock"), library()
    assert faketime is not None
    monkeypatch.setenv(SETTING, postgres_on(clock, faketime, tmp_path / "bin"))
    with (
        EmbeddedPostgres(tmp_path / "postgres", durable=False) as server,
        psycopg.connect(server.url("postgres").replace("+psycopg", "", 1), autocommit=True) as connection,
    ):
        for jump in (0.0, 30.0, -20.0):
            clock.jump(jump)
            row = connection.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()
            assert row is not None
            assert float(row[0]) - time.time() == pytest.approx(jump, abs=1)
