"""Wall clocks of single processes that jump. The clock of the machine and all monotonic ones stay as they are.

A program of another language is given libfaketime. That library turns sleeps until a monotonic moment into errors,
which Python's are, so that in workers the interpreter's own idea of the time is changed instead.
"""

import threading
import time
from pathlib import Path

import time_machine

from oddish.stack.binaries import PROGRAMS, installed

LIBRARIES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1")
TESTS = Path(__file__).parents[1]
FOLLOWING_SECONDS = 0.1


def library() -> Path | None:
    """libfaketime, where the system has it."""
    return next((found for pattern in LIBRARIES for found in Path("/").glob(pattern.lstrip("/"))), None)


class Clock:
    """A file that says by how many seconds the clock of some processes is off."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.jump(0)

    def jump(self, seconds: float) -> None:
        """Be ``seconds`` off from now on."""
        new = self.file.with_suffix(".new")
        new.write_text(f"{seconds:+g}")
        new.chmod(0o644)
        new.replace(self.file)

    @property
    def for_worker(self) -> dict[str, str]:
        """Variables with which a worker follows it."""
        return inside() | {"CHAOS_CLOCK": str(self.file)}


def inside() -> dict[str, str]:
    """Variables with which a worker loads ``sitecustomize`` of this suite."""
    return {"PYTHONPATH": f"{TESTS / 'chaos' / 'inside'}:{TESTS}"}


def follow(file: str) -> None:
    """In a worker: be off by what ``file`` says, from now on."""
    coordinates = time_machine.travel(time.time(), tick=True).start()
    real = time_machine.escape_hatch.time.time

    def run() -> None:
        before = 0.0
        while True:
            off = float(Path(file).read_text())
            if off != before:
                coordinates.move_to(real() + off, tick=True)
                before = off
            time.sleep(FOLLOWING_SECONDS)

    threading.Thread(target=run, name="clock", daemon=True).start()


def postgres_on(clock: Clock, faketime: Path, directory: Path) -> str:
    """A directory of PostgreSQL's programs whose server runs on ``clock``, as a value of ``ODDISH_POSTGRES_BIN``."""
    original = installed()[0].directory
    faked = f"LD_PRELOAD='{faketime}' FAKETIME_TIMESTAMP_FILE='{clock.file}' FAKETIME_NO_CACHE=1 DONT_FAKE_MONOTONIC=1"
    directory.mkdir(parents=True)
    for name in PROGRAMS:
        wrapper = directory / name
        variables = faked if name == "postgres" else ""
        wrapper.write_text(f'#!/bin/sh\nexec env {variables} {original / name} "$@"\n')
        wrapper.chmod(0o755)
    return str(directory)
