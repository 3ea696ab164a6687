"""What is packed for the way to the server, and what can keep a task from getting there."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from oddish.client.errors import ApiError, NotPacked
from oddish.client.types import UploadTarget
from oddish.tasks.package import PublishedFile, write_archive

if TYPE_CHECKING:
    from oddish.client.connection import Connection

EXPIRED = "expired_url"
LARGEST_NAMED = 3


@dataclass(frozen=True)
class Archive:
    what: str
    """As in ``task hello``."""
    files: Sequence[PublishedFile]
    content: IO[bytes]
    size: int
    """Bytes."""

    def send(self, connection: "Connection", target: UploadTarget) -> None:
        """Put it where the server said; a refusal for its size says what makes it large."""
        try:
            connection.put_file(target["upload_url"] or "", self.content, target["upload_headers"])
        except ApiError as error:
            if error.http_status != 413:
                raise
            largest = sorted(self.files, key=lambda file: file.size, reverse=True)[:LARGEST_NAMED]
            named = ", ".join(f"{file.path} ({size(file.size)})" for file in largest)
            detail = f"The archive of {self.what} has {size(self.size)} ({self.size} bytes): {error.message}"
            fix = (
                f"Leave out what the task does not need; the largest files are {named}. The limit of the server is its "
            )
            fix += "setting ODDISH_MAX_ARCHIVE_BYTES."
            raise ApiError({**error.problem, "detail": detail, "fix": fix}, error.http_status) from error


@contextmanager
def packed(files: Sequence[PublishedFile], what: str) -> Iterator[Archive]:
    """The archive in a temporary file. Raises ``NotPacked`` when that cannot be written."""
    with ExitStack() as stack:
        try:
            content = stack.enter_context(tempfile.TemporaryFile())
            write_archive(files, content)
            content.flush()
        except OSError as error:
            raise _not_packed(what, error) from error
        yield Archive(what, files, content, content.tell())


def size(count: int) -> str:
    """Bytes in a unit that leaves few digits."""
    value = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"


def _not_packed(what: str, error: OSError) -> NotPacked:
    where = tempfile.tempdir or "the directory for temporary files"
    return NotPacked(
        f"The archive of {what} cannot be written to {where}: {error.strerror or error}.",
        fix="Free space there, or name another directory in TMPDIR.",
    )
