"""Pages of a listing of files that is known as a whole. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class HasPath(Protocol):
    @property
    def path(self) -> str: ...


@dataclass(frozen=True)
class Page[File]:
    files: Sequence[File]
    cursor: str | None
    """Continues the listing; None at its end."""


def page[File: HasPath](
    files: Sequence[File], *, prefix: str, recursive: bool, cursor: str | None, limit: int
) -> Page[File]:
    """At most ``limit`` of the files whose paths begin with ``prefix`` and follow ``cursor``, by their paths.

    Without ``recursive`` only those without a further "/" after the prefix.
    """
    found = [
        file
        for file in files
        if file.path.startswith(prefix)
        and (cursor is None or file.path > cursor)
        and (recursive or "/" not in file.path[len(prefix) :])
    ]
    found.sort(key=lambda file: file.path)
    return Page(found[:limit], found[limit - 1].path if len(found) > limit else None)
