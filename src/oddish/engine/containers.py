"""What attempts left on a Docker engine: found by its label, removed when nobody runs the attempt any more.

Everything that an attempt makes there (containers, networks, volumes, images of Compose services) carries Compose's
project label with a name that begins with the owner and the attempt. The owner is one state directory of one machine,
so that deployments which share an engine never remove each other's.
"""

import asyncio
import re
import subprocess
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from oddish.engine.image_records import IMAGES, records, removing

PROJECT_LABEL = "com.docker.compose.project"
NETWORK = "oddish"
"""The network of all containers that need no network of their own; they reach the outside and not each other."""
COMMAND_SECONDS = 60.0

_UNUSABLE = re.compile(r"[^a-z0-9_-]+")
_LABELLED = ("--filter", f"label={PROJECT_LABEL}", "--format")
_PROJECT = f'{{{{.Label "{PROJECT_LABEL}"}}}}'
_KINDS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("ps", "--all", *_LABELLED, f"{{{{.ID}}}} {_PROJECT}"), ("rm", "--force", "--volumes")),
    (("network", "ls", *_LABELLED, f"{{{{.ID}}}} {_PROJECT}"), ("network", "rm")),
    (("volume", "ls", *_LABELLED, f"{{{{.Name}}}} {_PROJECT}"), ("volume", "rm", "--force")),
    (("images", *_LABELLED, "{{.Repository}}:{{.Tag}} {{.Repository}}"), ("rmi", "--no-prune")),
)
"""How each kind of thing is listed with its project, and removed, in the order in which they let go of each other.
The engine does not list labels of images; Compose names an image after its project and service."""


class EngineDidNotAnswer(Exception):
    """A docker command failed or took too long."""


def attempt_prefix(owner: str, attempt: str) -> str:
    """How the names of all projects of one attempt begin. ``attempt`` is a claim's label."""
    return f"oddish-{owner}-{_UNUSABLE.sub('-', attempt.lower())}__"


def project_name(owner: str, attempt: str, role: str) -> str:
    """The Compose project of one environment of an attempt; ``role`` tells the environments of a trial apart."""
    return attempt_prefix(owner, attempt) + _UNUSABLE.sub("-", role.lower())


async def sweep(owner: str, living: Callable[[], Collection[str]], *, program: str = "docker") -> list[str]:
    """Remove what belongs to ``owner`` and to no attempt of ``living``; the names of the projects that were removed.

    ``living`` is asked after the engine was, so that an attempt which begins in between is not taken for a dead one.
    Raises EngineDidNotAnswer; what was removed until then stays removed.
    """
    found = [await _list(program, listing) for listing, _ in _KINDS]
    own = {project for entries in found for project in entries.values() if project.startswith(f"oddish-{owner}-")}
    alive = tuple(attempt_prefix(owner, attempt) for attempt in living()) if own else ()
    dead = {project for project in own if not project.startswith(alive)}
    for (_, removal), entries in zip(_KINDS, found, strict=True):
        if names := [name for name, project in entries.items() if project in dead]:
            # What is already gone is no failure, and what is still held is found by the next sweep.
            await _run(program, [*removal, *names])
    return sorted(dead)


async def evict(home: Path, *, unused_seconds: float, program: str = "docker") -> list[str]:
    """Remove the images that trials of this state directory have not used for so long; their tags.

    Raises EngineDidNotAnswer.
    """
    old = time.time() - unused_seconds
    evicted = []
    for record in sorted(records(home).glob("*.json")):
        with removing(home, record.stem) as is_ours:
            if is_ours and record.exists() and record.stat().st_mtime < old:
                # An image that is in use elsewhere stays, and is theirs to remove.
                await _run(program, ["rmi", f"{IMAGES}:{record.stem}"])
                record.unlink()
                evicted.append(record.stem)
    return evicted


async def release_network(*, program: str = "docker") -> str | None:
    """Remove the shared network unless somebody uses it; what the engine said if it stays."""
    removed, output = await _run(program, ["network", "rm", NETWORK])
    if removed == 0 or (await _run(program, ["network", "inspect", NETWORK]))[0] != 0:
        return None
    return output.strip()


async def _list(program: str, listing: Sequence[str]) -> dict[str, str]:
    """Name of a thing -> its project."""
    code, output = await _run(program, listing)
    if code != 0:
        raise EngineDidNotAnswer(f"docker {listing[0]}: {output.strip()[-500:]}")
    return {name: project for name, space, project in (line.partition(" ") for line in output.splitlines()) if space}


async def _run(program: str, arguments: Sequence[str]) -> tuple[int, str]:
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        raise EngineDidNotAnswer(f"{program}: {error.strerror}") from error
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError as error:
        raise EngineDidNotAnswer(f"docker {arguments[0]} took longer than {COMMAND_SECONDS:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, output.decode(errors="replace")
