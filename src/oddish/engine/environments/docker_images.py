"""Images of task environments: built once for everyone who wants the same content, and kept.

An image is named after the content of its build context. Whoever wants it takes the finished one, as long as that
still stands on the base image of that name; else one process builds and the others wait. What a build came to is shared
with those that waited for it, success or failure, so that a broken Dockerfile is not built once per waiting trial.
Failures of builds with registry logins of their own are not shared: with other logins they may well succeed.
"""

import asyncio
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harbor.environments.base import SandboxBuildFailedError

from oddish.engine.environments import docker_program
from oddish.engine.image_records import IMAGES, Build, beginning_to_use, locked, read_build, records, write_build
from oddish.home import home

LABEL = "oddish.environment"
MESSAGE_BYTES = 8000

_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?\s*$", re.IGNORECASE | re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_STEP_FAILED = re.compile(
    r"exit code: \d|did not complete successfully|returned a non-zero code|executor failed running"
)
_NOT_ITS_FAULT = re.compile(
    r"cannot connect to the docker daemon|error during connect|is the docker daemon running|no space left on device"
    r"|toomanyrequests|rate limit|i/o timeout|tls handshake timeout|connection (?:reset|refused)|unexpected eof"
    r"|context deadline exceeded|(?:500|502|503|504) (?:internal|bad gateway|service|gateway)|temporary failure",
    re.IGNORECASE,
)
"""What the engine, the network or a registry says when it is they that failed."""


def content_key(context: Path) -> str:
    """Identity of a build context: paths, kinds, permissions and bytes. 32 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in _content(context):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:32]


def _content(directory: Path) -> Iterator[bytes]:
    for path in sorted(directory.rglob("*")):
        status = path.lstat()
        yield os.fsencode(path.relative_to(directory))
        yield str(status.st_mode).encode()
        if stat.S_ISLNK(status.st_mode):
            yield os.fsencode(path.readlink())
        elif stat.S_ISREG(status.st_mode):
            with path.open("rb") as file:
                yield hashlib.file_digest(file, "sha256").digest()


def base_of(dockerfile: str) -> str | None:
    """The image from outside that the last stage stands on; None when its name cannot be told from the text."""
    stages: dict[str, str] = {}
    base = None
    for image, name in _FROM.findall(dockerfile):
        base = stages.get(image.lower(), image)
        if name:
            stages[name.lower()] = base
    return None if base is None or "$" in base or base == "scratch" else base


def readable(output: str) -> str:
    """Output of a build for a message: its end, without colours."""
    return _COLOUR.sub("", output).strip()[-MESSAGE_BYTES:]


def blames_definition(output: str) -> bool:
    """Whether a failed build or pull would fail again for the same definition."""
    return bool(_STEP_FAILED.search(output)) or not _NOT_ITS_FAULT.search(output)


async def inspect(*names: str) -> list[dict[str, Any]]:
    """What the engine knows of the images, without those that it does not have."""
    answer = await docker_program.ask("image", "inspect", "--format", "{{json .}}", *names)
    return [json.loads(line) for line in answer.output.splitlines() if line.startswith("{")]


async def built(context: Path, *, task: str, log: Path, anew: bool, alone: bool = False) -> dict[str, Any]:
    """The image of the Dockerfile in ``context``, as ``inspect`` returns it, made unless it is there.

    With ``anew`` only a build that begins after this call will do, and it takes nothing from the build cache. With
    ``alone`` neither the failure of another build is taken over nor one of this build shared. ``log`` receives the
    output of the build that was made or waited for. Raises SandboxBuildFailedError when the definition is to blame and
    RuntimeError when it is not.
    """
    asked = time.time()
    key = await asyncio.to_thread(content_key, context)
    name, record = f"{IMAGES}:{key}", records(home()) / f"{key}.json"
    with beginning_to_use(home(), key) as nobody_is_at_it:
        if nobody_is_at_it and not anew and (found := await _used(name, record, context)):
            return found
    async with locked(home(), key):
        last = read_build(record)
        if last is None or last.began < asked or (alone and last.error is not None):
            if not anew and (found := await _used(name, record, context)):
                return found
            last = await _build(name, context, task=task, log=log, anew=anew)
            if not alone or last.error is None:
                await asyncio.to_thread(write_build, record, last)
        else:
            await asyncio.to_thread(log.write_text, last.log)
    if last.error is not None:
        raise (SandboxBuildFailedError if last.blame else RuntimeError)(last.error)
    [found] = await inspect(name)
    return found


async def pulled(image: str, *, log: Path) -> dict[str, Any]:
    """The image ``image``, fetched from its registry unless it is there. Raises as ``built`` does."""
    if found := await inspect(image):
        return found[0]
    async with locked(home(), image):
        if found := await inspect(image):
            return found[0]
        answer = await docker_program.ask("pull", "--quiet", image, log=log)
    if answer.code != 0:
        message = f"The image {image} is not on the engine and cannot be fetched.\n{readable(answer.output)}"
        raise (SandboxBuildFailedError if blames_definition(answer.output) else RuntimeError)(message)
    [fetched] = await inspect(image)
    return fetched


async def _used(name: str, record: Path, context: Path) -> dict[str, Any] | None:
    """The finished image, from now on used; None where it has to be built."""
    if found := await _current(name, context):
        await asyncio.to_thread(record.touch)
    return found


async def _current(name: str, context: Path) -> dict[str, Any] | None:
    """The finished image, unless the base image of its name has become another one since."""
    base = base_of((context / "Dockerfile").read_text(errors="replace"))
    found = await inspect(name, *([base] if base else []))
    by_name = {tag: image for image in found for tag in image["RepoTags"]}
    image = by_name.get(name)
    if image is None:
        return None
    others = [one for one in found if one is not image]
    return image if all(_stands_on(image, other) for other in others) else None


def _stands_on(image: dict[str, Any], base: dict[str, Any]) -> bool:
    below: Sequence[str] = base["RootFS"].get("Layers") or []
    return list(image["RootFS"].get("Layers") or [])[: len(below)] == list(below)


async def _build(name: str, context: Path, *, task: str, log: Path, anew: bool) -> Build:
    began = time.time()
    earlier = {image["Id"] for image in await inspect(name)}
    # Older docker programs would not build with what Dockerfiles of today need.
    modern = (await docker_program.ask("buildx", "version")).code == 0
    command = ["buildx", "build", "--load"] if modern else ["build"]
    command += ["--no-cache"] if anew else []
    command += ["--tag", name, "--label", f"{LABEL}={task}", str(context)]
    answer = await docker_program.ask(*command, log=log, env={"NO_COLOR": "1"})
    text = readable(answer.output)
    if answer.code == 0:
        for image in earlier - {image["Id"] for image in await inspect(name)}:
            # Stays where somebody still uses it.
            await docker_program.ask("rmi", "--no-prune", image)
        return Build(began, None, text)
    return Build(began, f"The image of {task} cannot be built.\n{text}", text, blames_definition(answer.output))
