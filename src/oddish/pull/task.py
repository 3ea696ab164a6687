"""The files of one task version, fetched as its archive and unpacked into their directory."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from oddish.client import Client
from oddish.client.stored import TaskArchive
from oddish.client.types import Task
from oddish.errors import InvalidTask, OddishError, TooLarge
from oddish.pull.folder import PARTIAL, Folder
from oddish.pull.manifest import TaskReport
from oddish.pull.names import Parts, UnsafeName, single
from oddish.pull.transfer import Damaged, Receiver, guarded
from oddish.pull.trial import ends_everything, reason
from oddish.removal import delete
from oddish.tasks.archive import unpack
from oddish.tasks.package import HASH_PREFIX, content_hash, publish_set

TASKS = "tasks"
DOCUMENT, FILES = "task.json", "files"
MAX_ARCHIVE_BYTES = 16 * 1024**3
UNUSABLE = (InvalidTask, TooLarge, Damaged)
"""What can be wrong with an archive."""


@dataclass(frozen=True)
class TaskPull:
    """What all tasks of one pull have in common."""

    client: Client
    folder: Folder
    stop: Event

    def fetch(self, task: Task, version: int | None) -> TaskReport:
        """What concerns this task only is an error of the report; what ends the whole pull is raised."""
        report = TaskReport(task["id"], task["status"], task["experiment_id"], version)
        try:
            with guarded(self.folder):
                self._fetch(task, (TASKS, single(task["id"])), report)
        except UnsafeName as error:
            report.errors.append(f"its id {error}")
        except (OddishError, OSError) as error:
            if ends_everything(error) and not isinstance(error, UNUSABLE):
                raise
            report.errors.append(reason(error))
        return report

    def _fetch(self, task: Task, place: Parts, report: TaskReport) -> None:
        archive = self.client.versions.archive(task["id"], report.version)
        _check(archive)
        report.version = archive["version"]
        described = {name: value for name, value in task.items() if name != "trials"}
        of_files = {"version": archive["version"], "content_hash": archive["content_hash"]}
        self.folder.write_json((*place, DOCUMENT), described | of_files)
        directory = self.folder.path.joinpath(*place, FILES)
        if _hash(directory) == archive["content_hash"]:
            report.task_files_skipped = True
            return
        self._replace(archive, (*place, FILES))
        report.task_files_saved = True

    def _replace(self, archive: TaskArchive, target: Parts) -> None:
        name = f"{target[-2]}-v{archive['version']}"
        fresh = self.folder.path / PARTIAL / f"{name}.fresh"
        with self.folder.partial(single(f"{name}-{archive['content_hash']}")) as partial:
            try:
                if partial.size >= archive["archive_bytes"]:
                    partial.restart()
                self.client.versions.download(archive, Receiver(partial, archive["archive_bytes"], self.stop))
                delete(str(fresh))
                unpack(partial.path, fresh)
                if archive["content_hash"].startswith(HASH_PREFIX) and _hash(fresh) != archive["content_hash"]:
                    raise Damaged("The archive holds other files than the server announced.")
                self._put(fresh, target)
            except UNUSABLE:
                partial.restart()
                raise
            finally:
                delete(str(fresh))
            partial.forget()

    def _put(self, fresh: Path, target: Parts) -> None:
        """Have the tree at ``target`` in place of the one that is there."""
        former = (PARTIAL, f"{target[-2]}.former")
        if target[-1] in self.folder.names(target[:-1]):
            delete(str(self.folder.path.joinpath(*former)))
            self.folder.replace(target, former)
        self.folder.replace((PARTIAL, fresh.name), target)
        delete(str(self.folder.path.joinpath(*former)))


def _check(archive: Mapping[str, Any]) -> None:
    """Raises ``Damaged`` unless it says what is to come."""
    if not (isinstance(archive["content_hash"], str) and _is_count(archive["version"])):
        raise Damaged("The archive is announced without a version and a hash of its content.")
    if not (_is_count(archive["archive_bytes"]) and archive["archive_bytes"] <= MAX_ARCHIVE_BYTES):
        raise Damaged(f"The archive is announced with {archive['archive_bytes']!r} bytes.")


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _hash(directory: Path) -> str | None:
    """Of the task in the directory; None if there is none that can be read."""
    try:
        return content_hash(publish_set(directory))
    except (InvalidTask, OSError):
        return None
