"""What is installed: the interpreter, this package, the engine."""

import platform
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata

from oddish import __version__
from oddish.doctor.finding import Finding, ok, problem, warning

OLDEST_PYTHON = (3, 12)
ENGINE = "harbor"
_PINNED = re.compile(rf"{ENGINE}==(\d+(?:\.\d+)*)\.\*")


def look() -> Iterator[Finding]:
    yield judge_python(sys.version_info[:3], sys.executable)
    yield judge_system(sys.platform, platform.release(), platform.machine())
    yield ok("oddish", __version__)
    yield judge_engine(_version(ENGINE), metadata.requires("oddish") or ())


def judge_python(version: Sequence[int], executable: str) -> Finding:
    shown = ".".join(map(str, version))
    if tuple(version[:2]) < OLDEST_PYTHON:
        needed = ".".join(map(str, OLDEST_PYTHON))
        return problem("Python", f"{shown} is too old: {executable}", f"Install oddish with Python {needed} or newer.")
    return ok("Python", f"{shown}, {executable}")


def judge_system(name: str, release: str, machine: str) -> Finding:
    if name != "linux":
        return warning(
            "System",
            f"{name} {release} on {machine}: the local sandbox needs Linux.",
            "Use the docker environment, or a server with Linux workers by ODDISH_API_URL.",
        )
    return ok("System", f"Linux {release} on {machine}")


def judge_engine(installed: str | None, requirements: Sequence[str]) -> Finding:
    wanted = next((match[1] for line in requirements if (match := _PINNED.match(line))), None)
    if installed is None:
        return problem("Harbor", "It is not installed, and workers run trials with it.", "Install 'oddish[worker]'.")
    if wanted is not None and not installed.startswith(f"{wanted}."):
        return problem(
            "Harbor", f"{installed} is installed; this oddish is made for {wanted}.", f"Install 'harbor=={wanted}.*'."
        )
    return ok("Harbor", installed)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
