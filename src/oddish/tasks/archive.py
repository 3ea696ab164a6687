"""Unpacking archives that nobody vouches for.

An archive is read into a fresh directory beside its destination, and moved there when every member was
accepted. Standard library only.
"""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from oddish.errors import Conflict, Unavailable
from oddish.room import is_full
from oddish.tasks.extraction import Extraction, Member
from oddish.tasks.tarball import Tarball


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Bounds of one archive. Sizes in bytes."""

    max_bytes: int = 1024**3
    """The archive itself."""
    max_extracted_bytes: int = 4 * 1024**3
    """Its content, the archive's own headers included."""
    max_entries: int = 50_000
    """Files, links and directories, those that only paths imply included."""
    max_ratio: int = 200
    """Content per compressed byte, once the content exceeds ``ratio_applies_from`` bytes."""
    ratio_applies_from: int = 64 * 1024**2


@dataclass(frozen=True, slots=True)
class ArchiveSummary:
    """What was unpacked: members of the archive, regular files, their bytes, and the bytes of the archive."""

    entries: int
    files: int
    extracted_bytes: int
    archive_bytes: int


class ArchiveReader(Protocol):
    """An archive of any format."""

    @property
    def archive_bytes(self) -> int: ...

    def members(self) -> Iterator[Member]: ...


def unpack(archive: Path | BinaryIO, destination: Path, limits: ArchiveLimits | None = None) -> ArchiveSummary:
    """Unpack a gzip-compressed tar archive to ``destination``, which must not exist; its parent must.

    Files come out with mode 0644, or 0755 when their owner may execute them; owners and times are not kept. Links must
    stay inside; hard links become copies. Raises ``InvalidTask`` or ``TooLarge`` naming the member, ``Conflict`` when
    ``destination`` exists, ``Unavailable`` when the disk is full. Nothing is left behind then.
    """
    if isinstance(archive, Path):
        with archive.open("rb") as file:
            return unpack(file, destination, limits)
    limits = limits or ArchiveLimits()
    return extract(Tarball(archive, limits), destination, limits)


def extract(archive: ArchiveReader, destination: Path, limits: ArchiveLimits) -> ArchiveSummary:
    """Write what ``archive`` yields to ``destination``; errors as of ``unpack``."""
    if destination.exists() or destination.is_symlink():
        raise Conflict(f"{destination} exists already.", fix="Unpack to a new directory.")
    fresh = Path(tempfile.mkdtemp(dir=destination.parent, prefix=".unpack-"))
    try:
        extraction = Extraction(fresh, limits)
        for member in archive.members():
            extraction.add(member)
        extraction.finish()
        fresh.chmod(0o755)
        fresh.rename(destination)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        if is_full(error):
            raise Unavailable("No space left to unpack the archive.", fix="Free space on this machine.") from error
        raise
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    return ArchiveSummary(extraction.entries, extraction.files, extraction.extracted_bytes, archive.archive_bytes)
