"""The versions of a task."""

from typing import TYPE_CHECKING
from urllib.parse import quote

from oddish.client.errors import UnexpectedAnswer
from oddish.client.paths import segment
from oddish.client.shapes import items, members
from oddish.client.stored import TaskArchive, TaskDetail, TaskFileContent, TaskVersion

if TYPE_CHECKING:
    from oddish.client.connection import Connection, Params, Sink

NEEDED = ("version", "created_at", "is_current")


class Versions:
    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def of_task(self, task_id: str) -> list[TaskVersion]:
        """Newest first."""
        return items(self._connection.call("GET", _path(task_id, "versions")), TaskVersion, *NEEDED)

    def one(self, task_id: str, version: int) -> TaskVersion:
        return members(self._connection.call("GET", _path(task_id, f"versions/{version}")), TaskVersion, *NEEDED)

    def make_default(self, task_id: str, version: int) -> TaskVersion:
        """New trials run this version from now on; trials that are there stay as they are."""
        path = _path(task_id, f"versions/{version}/default")
        return members(self._connection.call("PUT", path, repeatable=True), TaskVersion, *NEEDED)

    def detail(self, task_id: str) -> TaskDetail:
        """What the trials of each version came to and cost, newest first."""
        answer = self._connection.call("GET", _path(task_id, "detail"))
        return members(answer, TaskDetail, *TaskDetail.__required_keys__)

    def archive(self, task_id: str, version: int | None = None) -> TaskArchive:
        """Where all files of a version can be fetched, of the current one by default."""
        params = {"presign": True, "recursive": True, **_of(version)}
        answer = self._connection.call("GET", _path(task_id, "files"), params=params)
        return members(answer, TaskArchive, "archive_url", "content_hash", "version")

    def download(self, archive: TaskArchive, sink: "Sink") -> None:
        """The ``.tar.gz`` of a version into ``sink``, from where that stands."""
        if archive["archive_url"] is None:
            raise UnexpectedAnswer(f"The server names no archive of task {archive['task_id']!r}.")
        self._connection.download(archive["archive_url"], sink, signed=True)

    def file(self, task_id: str, path: str, *, version: int | None = None) -> TaskFileContent:
        """The content of one file; of a long one its beginning."""
        answer = self._connection.call("GET", _path(task_id, f"files/{quote(path)}"), params=_of(version))
        return members(answer, TaskFileContent, "content", "encoding")


def _path(task_id: str, rest: str) -> str:
    return f"/tasks/{segment(task_id, 'a task')}/{rest}"


def _of(version: int | None) -> "Params":
    return {} if version is None else {"version": version}
