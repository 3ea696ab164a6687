"""``python -m oddish.engine.datasets``: find a dataset through Harbor's registry clients, and fetch tasks of it.

One JSON object per line, in and out. In: the request, then ``{"chosen": [index, ...]}``. Out: ``{"found": [name,
...]}``, ``{"fetched": name}`` for each task that had to be fetched, ``{"paths": [path, ...]}`` in the order of
``chosen``; or ``{"refused": reason}``. What a registry names is hostile: it decides neither how git is called nor what
is read here.
"""

import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from harbor.models.task.id import GitTaskId, LocalTaskId, PackageTaskId
from harbor.registry.client.base import BaseRegistryClient
from harbor.registry.client.factory import RegistryClientFactory
from harbor.registry.client.json import JsonRegistryClient
from harbor.tasks.client import TaskClient, TaskDownloadResult
from pydantic import ValidationError

from oddish.engine.datasetcache import DatasetCache

type TaskId = GitTaskId | LocalTaskId | PackageTaskId

LARGEST_FILE = 8 * 1024**3
"""Bytes that one file may have while it is fetched."""
TRANSPORTS = "https"
OWN_TRANSPORTS = "https:http:ssh:git:file"
"""What git may use for a registry file that the user has named."""
SHOWN = 10
GIT_LINES = 3

_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,254}")
_DIRECTORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ +@-]{0,199}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Refused(Exception):
    """Why there are no tasks, as a sentence."""


@dataclass(frozen=True)
class Request:
    reference: str
    """``name@version`` or ``org/name[@ref]``."""
    cache: Path
    directory: Path
    """Where relative paths of a registry file start."""
    registry_path: Path | None = None
    registry_url: str | None = None

    @classmethod
    def read(cls, line: str) -> "Request":
        given: Mapping[str, Any] = json.loads(line)
        registry_path = given.get("registry_path")
        return cls(
            reference=given["reference"],
            cache=Path(given["cache"]),
            directory=Path(given["directory"]),
            registry_path=None if registry_path is None else Path(registry_path),
            registry_url=given.get("registry_url"),
        )

    def client(self) -> BaseRegistryClient:
        if self.registry_path is None and self.registry_url is None and "/" in self.reference:
            from harbor.registry.client.package import PackageDatasetClient  # only here: it brings its vendor's client

            return PackageDatasetClient()  # type: ignore[no-untyped-call]
        return RegistryClientFactory.create(registry_url=self.registry_url, registry_path=self.registry_path)


async def serve(lines: TextIO, answer: Callable[[Mapping[str, object]], None]) -> None:
    request = Request.read(lines.readline())
    os.environ["GIT_ALLOW_PROTOCOL"] = TRANSPORTS if request.registry_path is None else OWN_TRANSPORTS
    client = request.client()
    try:
        metadata = await client.get_dataset_metadata(request.reference)
    except Exception as error:
        raise Refused(f"{_reason(error)}{await _others(client)}") from error
    if not metadata.task_ids:
        raise Refused("It has no tasks.")
    found = [_checked(task_id, request) for task_id in metadata.task_ids]
    answer({"found": [task_id.get_name() for task_id in found]})
    chosen = [found[index] for index in json.loads(lines.readline())["chosen"]]
    paths = await _fetch(chosen, request, lambda name: answer({"fetched": name}))
    answer({"paths": [str(paths[task_id]) for task_id in chosen]})


def _checked(task_id: TaskId, request: Request) -> TaskId:
    """Raises ``Refused`` for a task that may not be fetched; git itself is told which transports are allowed."""
    match task_id:
        case LocalTaskId():
            return LocalTaskId(path=_local(task_id.path, request))
        case GitTaskId():
            fit = (
                _CONTROL.search(f"{task_id.git_url}{task_id.path}") is None
                and not task_id.git_url.startswith("-")
                and (task_id.git_commit_id is None or _REVISION.fullmatch(task_id.git_commit_id) is not None)
                and _DIRECTORY.fullmatch(task_id.path.name) is not None
            )
        case PackageTaskId():
            fit = all(_DIRECTORY.fullmatch(part) for part in (task_id.org, task_id.name))
    if not fit:
        raise Refused(f"It names a task that cannot be fetched: {str(task_id)[:300]!r}.")
    return task_id


def _local(path: Path, request: Request) -> Path:
    if request.registry_path is None:
        raise Refused(f"It names a directory of this machine, {str(path)[:300]!r}, as only a registry file may.")
    path = path.expanduser()
    places = [start / path for start in (request.directory, request.registry_path.parent)]
    for place in places:
        if place.is_dir():
            return place.resolve()
    looked = " and ".join(dict.fromkeys(map(str, places)))
    raise Refused(f"Its task {str(path)!r} is no directory; looked for at {looked}.")


async def _fetch(chosen: Sequence[TaskId], request: Request, tell: Callable[[str], None]) -> dict[TaskId, Path]:
    """The directory of each; one that is there already is not fetched again. What came stays, whatever follows."""
    cache = DatasetCache(request.cache)
    paths: dict[TaskId, Path] = {}
    missing: list[GitTaskId | LocalTaskId | PackageTaskId] = []
    for task_id in dict.fromkeys(chosen):
        if isinstance(task_id, LocalTaskId):
            paths[task_id] = task_id.path
        elif (known := _identity(task_id)) and (there := cache.find(known)):
            paths[task_id] = there
        else:
            missing.append(task_id)
    if not missing:
        return paths

    def arrived(task_id: TaskId, result: TaskDownloadResult) -> None:
        if not isinstance(task_id, LocalTaskId):
            identity = _identity(task_id, result) or str(result.path)
            name = task_id.path.name if isinstance(task_id, GitTaskId) else task_id.name
            paths[task_id] = cache.add(identity, result.path, name)
            tell(task_id.get_name())

    with cache.staging() as staging:
        os.environ["TMPDIR"] = tempfile.tempdir = str(staging)
        await TaskClient().download_tasks(missing, output_dir=staging, on_task_download_complete=arrived)
    return paths


def _identity(task_id: GitTaskId | PackageTaskId, result: TaskDownloadResult | None = None) -> str | None:
    """Equal ones are the same files; None before it is known which files a name stands for."""
    if isinstance(task_id, PackageTaskId):
        digest = result.content_hash if result else (task_id.ref or "").removeprefix("sha256:")
        return f"package {task_id.org}/{task_id.name} {digest}" if _is_digest(digest) else None
    commit = result.resolved_git_commit_id if result else task_id.git_commit_id
    return f"git {task_id.git_url} {commit} {task_id.path.as_posix()}" if _is_digest(commit) else None


def _is_digest(value: str | None) -> bool:
    return value is not None and re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", value) is not None


async def _others(client: BaseRegistryClient) -> str:
    """What a registry of few datasets has instead."""
    if not isinstance(client, JsonRegistryClient):
        return ""
    listed = sorted({f"{entry.name}@{entry.version}" for entry in await client.list_datasets()})
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return f" It has {', '.join(listed[:SHOWN])}{more}." if listed else " It has no datasets."


def _reason(error: BaseException) -> str:
    """The first line of what went wrong, of git its last ones."""
    leaf = next(_leaves(error))
    if isinstance(leaf, subprocess.CalledProcessError):
        said = (leaf.stderr or b"").decode(errors="replace").strip().splitlines()[-GIT_LINES:]
        return f"git has failed: {' '.join(said) or f'status {leaf.returncode}'}"
    if isinstance(leaf, ValidationError):
        first = leaf.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'an entry'} of it is unreadable: {first['msg']}."
    text = str(leaf).strip().split("\n", 1)[0] or type(leaf).__name__
    return text if text.endswith(".") else f"{text}."


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _leaves(part)
    else:
        yield error


def main() -> int:
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no answer
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))

    def answer(document: Mapping[str, object]) -> None:
        print(json.dumps(document), file=out, flush=True)

    try:
        asyncio.run(serve(sys.stdin, answer))
    except Refused as refusal:
        answer({"refused": str(refusal)})
    except Exception as error:  # noqa: BLE001 - whatever a registry or git does, the caller gets a sentence
        answer({"refused": _reason(error)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
