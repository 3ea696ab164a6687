"""Registering tasks without running anything on them."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from oddish.cli.counter import counter
from oddish.cli.text import one_line
from oddish.client import Client
from oddish.client.types import Priority, UploadedVersion
from oddish.errors import OddishError
from oddish.tasks.definition import TaskDefinition

CONCURRENCY = 4


@dataclass(frozen=True)
class About:
    """What is said of every task that is registered."""

    message: str | None = None
    user: str | None = None
    priority: Priority | None = None
    """None: as it was."""


@dataclass(frozen=True)
class Registration:
    """A task directory, and the version that it is on the server or why it is none."""

    directory: Path
    version: UploadedVersion | None = None
    refusal: OddishError | None = None

    @property
    def name(self) -> str:
        return self.directory.resolve().name

    def document(self) -> dict[str, object]:
        if self.version is None:
            return {"name": self.name, "error": str(self.refusal)}
        version = self.version
        return {
            "id": version["task_id"],
            "name": version["name"],
            "version": version["version"],
            "existing_task": version["existing_task"],
            "content_unchanged": version["content_unchanged"],
            "url": None,
        }

    def line(self) -> str:
        if self.version is None:
            return f"{one_line(self.name)}  not registered: {self.refusal}"
        state = "unchanged" if self.version["content_unchanged"] else "new version"
        if not self.version["existing_task"]:
            state = "new task"
        return f"{one_line(self.version['task_id'])}  version {self.version['version']}  {state}"


@dataclass
class Declared:
    """Collects, while tasks are checked, the names that they give themselves."""

    names: dict[Path, str] = field(default_factory=dict)

    def look(self, task: TaskDefinition, published: Sequence[object]) -> None:
        if task.declared_name is not None:
            self.names[task.directory] = task.declared_name

    def of(self, directory: Path) -> str | None:
        return self.names.get(directory.resolve())


@dataclass(frozen=True)
class Tasks:
    """The task directories that a command names, checked, and what is said of each."""

    directories: Sequence[Path]
    about: About
    declared: Declared


def register(
    client: Client, tasks: Sequence[Path], about: About, *, registered: Callable[[], None] = lambda: None
) -> list[Registration]:
    """Send the tasks, some at a time; what became of each, in their order. ``registered`` is told of each one."""
    done: dict[Path, Registration] = {}
    pool = ThreadPoolExecutor(CONCURRENCY, thread_name_prefix="upload")
    try:
        pending: dict[Future[UploadedVersion], Path] = {pool.submit(_send, client, task, about): task for task in tasks}
        for future in as_completed(pending):
            task = pending[future]
            try:
                done[task] = Registration(task, version=future.result())
            except OddishError as error:
                done[task] = Registration(task, refusal=error)
            registered()
    finally:
        pool.shutdown(cancel_futures=True)
    return [done[task] for task in tasks]


def _send(client: Client, task: Path, about: About) -> UploadedVersion:
    return client.upload(task, message=about.message, user=about.user, priority=about.priority)


def register_counted(client: Client, tasks: Sequence[Path], about: About, *, quiet: bool) -> list[Registration]:
    """As ``register``, and tell how many it has done unless it is ``quiet``."""
    with counter(len(tasks), "task", quiet=quiet) as count:
        return register(client, tasks, about, registered=lambda: count.advance(1))
