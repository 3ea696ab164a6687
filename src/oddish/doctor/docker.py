"""The Docker engine as Harbor uses it: the client program, the engine behind it, the Compose plugin."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oddish.doctor import disk
from oddish.doctor.finding import Finding, ok, warning
from oddish.doctor.words import size

ENGINE, COMPOSE = "Docker engine", "Docker Compose"
OLDEST_COMPOSE = (2, 26)
_ANSWER_SECONDS = 2.0
_NO_COMMAND = re.compile("is not a docker command|unknown command|unknown shorthand flag", re.IGNORECASE)
"""What docker says where it knows no ``compose``."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program said; ``code`` is None when it did not end in time."""

    code: int | None
    output: str = ""
    errors: str = ""


def look_at_engine() -> Iterator[Finding]:
    if shutil.which("docker") is None:
        yield judge_engine(None)
        return
    answer = ask("docker", "info", "--format", "{{json .}}")
    yield judge_engine(answer, os.environ.get("DOCKER_HOST"))
    root = root_directory(answer)
    if root is not None and root.is_dir():
        yield judge_disk(disk.space(root))


def look_at_compose() -> Iterator[Finding]:
    if shutil.which("docker") is not None:
        yield judge_compose(ask("docker", "compose", "version", "--short"))


def ask(*command: str) -> Answer:
    try:
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_ANSWER_SECONDS
        )
    except subprocess.TimeoutExpired:
        return Answer(None)
    return Answer(ended.returncode, ended.stdout, ended.stderr)


def judge_engine(answer: Answer | None, address: str | None = None) -> Finding:
    """``answer`` is that of ``docker info`` as JSON, None without a docker program; ``address`` is ``DOCKER_HOST``."""
    if answer is None:
        return warning(
            ENGINE,
            "There is no docker program.",
            "For tasks that need one, install Docker Engine with the Compose plugin.",
        )
    if answer.code is None:
        return warning(ENGINE, "It does not answer in time.", "Restart it: sudo systemctl restart docker")
    described = _description(answer)
    said = _last_line(answer.errors) or "; ".join(described.get("ServerErrors") or [])
    if answer.code == 0 and not described.get("ServerErrors") and described.get("ServerVersion"):
        return ok(ENGINE, f"{described['ServerVersion']}, {described.get('OperatingSystem') or 'unknown system'}")
    if "permission denied" in said.lower():
        return warning(
            ENGINE,
            "This user may not use the engine's socket.",
            "Join its group, whose members are root in effect, and log in again: sudo usermod -aG docker $USER",
        )
    if address:
        return warning(ENGINE, f"Nothing answers at DOCKER_HOST={address}: {said}", "Correct DOCKER_HOST, or unset it.")
    return warning(ENGINE, f"It does not answer: {said}", "Start it: sudo systemctl start docker")


def judge_compose(answer: Answer) -> Finding:
    """``answer`` is that of ``docker compose version --short``."""
    needed = ".".join(map(str, OLDEST_COMPOSE))
    fix = f"Install the Compose plugin of Docker, {needed} or newer."
    if answer.code is None:
        return warning(COMPOSE, "It does not answer in time.", "Try again when the machine is less busy.")
    match = re.match(r"v?(\d+)\.(\d+)\S*", answer.output.strip())
    if answer.code != 0 and (said := _last_line(answer.errors)) and not _NO_COMMAND.search(answer.errors):
        return warning(COMPOSE, f"It does not answer: {said}", fix)
    if answer.code != 0 or match is None:
        return warning(COMPOSE, "The docker program has no Compose plugin.", fix)
    if (int(match[1]), int(match[2])) < OLDEST_COMPOSE:
        return warning(COMPOSE, f"{match[0]} is older than {needed}.", fix)
    return ok(COMPOSE, match[0])


def judge_disk(found: disk.Space) -> Finding:
    shown = f"{size(found.free)} free in {found.path}"
    if found.free < disk.LITTLE:
        return warning("Docker's disk", f"Only {shown}.", "Remove what nothing uses: docker system prune")
    return ok("Docker's disk", shown)


def root_directory(answer: Answer) -> Path | None:
    """Where the engine keeps images and containers, on whichever machine it runs."""
    path = _description(answer).get("DockerRootDir")
    return Path(path) if isinstance(path, str) and path.startswith("/") else None


def _description(answer: Answer) -> dict[str, Any]:
    try:
        document = json.loads(answer.output)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""
