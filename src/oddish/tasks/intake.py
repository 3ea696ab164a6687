"""Reading an archive that arrived: what it holds, and whether it may become a version."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from oddish.errors import InvalidTask, TooLarge
from oddish.storage.store import ArtifactStore
from oddish.tasks import compose
from oddish.tasks.archive import ArchiveLimits, unpack
from oddish.tasks.definition import TaskDefinition, load_task, sandboxes
from oddish.tasks.package import HASH_PREFIX, content_hash, publish_set
from oddish.tasks.timeouts import check_timeouts


class ContentMismatch(InvalidTask):
    """The archive is not what its sender said it is."""

    code = "content_mismatch"


@dataclass(frozen=True)
class Content:
    """An accepted archive."""

    content_hash: str
    archive_bytes: int
    definition: Mapping[str, object]
    """What submissions and pages need to know of the task, as JSON."""


async def examine(
    store: ArtifactStore, object_key: str, limits: ArchiveLimits, *, name: str, client_hash: str
) -> Content:
    """Unpack the object in a directory of its own, check the task in it and hash its content.

    Raises ``ObjectNotFound``, ``TooLarge``, ``InvalidTask``, and ``ContentMismatch`` when ``client_hash`` is of our
    kind and differs.
    """
    size = (await store.head(object_key)).size
    if size > limits.max_bytes:
        raise TooLarge(f"The archive has {size} bytes, more than {limits.max_bytes}.", fix="Leave out large files.")
    async with _scratch() as scratch:
        archive = scratch / "archive.tar.gz"
        await store.fetch(object_key, archive)
        content = await asyncio.to_thread(_read, archive, scratch / name, limits)
    if client_hash.startswith(HASH_PREFIX) and client_hash != content.content_hash:
        raise ContentMismatch(
            f"The archive holds content {content.content_hash}, not {client_hash} as announced.",
            fix="Upload the task again; it may have changed meanwhile.",
        )
    return content


@asynccontextmanager
async def _scratch() -> AsyncIterator[Path]:
    """A directory of its own. Removing one takes a while, in which others are served."""
    scratch = tempfile.TemporaryDirectory(prefix="oddish-intake-", ignore_cleanup_errors=True)
    try:
        yield Path(scratch.name)
    finally:
        await asyncio.to_thread(scratch.cleanup)


def _read(archive: Path, directory: Path, limits: ArchiveLimits) -> Content:
    try:
        summary = unpack(archive, directory, limits)
        definition = load_task(directory)
        check_timeouts(definition.timeouts)
        digest = content_hash(publish_set(directory))
        services = compose.look(directory, _places(definition))
        description = _description(definition, services)
        return Content(content_hash=digest, archive_bytes=summary.archive_bytes, definition=description)
    except InvalidTask as error:
        message = error.message.replace(f"{directory}/", "").replace(str(directory), directory.name)
        raise type(error)(message, fix=error.fix) from error


def _places(task: TaskDefinition) -> list[str]:
    """Directories whose Compose file the engine would use."""
    return ["environment", "tests", *(f"steps/{step.name}/tests" for step in task.steps)]


def _description(task: TaskDefinition, services: compose.Services) -> Mapping[str, object]:
    description = {
        "name": task.declared_name,
        "description": task.description,
        "keywords": task.keywords,
        **sandboxes(task),
        "agent_network_modes": task.agent_network_modes,
        "agent_timeout_sec": task.agent_timeout_sec,
        "verifier_timeout_sec": task.verifier_timeout_sec,
        "steps": [asdict(step) for step in task.steps],
        "has_solution": task.has_solution,
        "variables": [asdict(variable) for variable in task.variables],
        "services": asdict(services),
    }
    try:
        text = json.dumps(description, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidTask(f"task.toml holds a value that cannot be stored: {error}.", fix="Correct it.") from error
    if "\\u0000" in text:
        raise InvalidTask("task.toml holds a NUL character.", fix="Remove it.")
    document: dict[str, object] = json.loads(text)
    return document
