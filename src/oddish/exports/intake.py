"""Reading an archive that arrived: whether it is a results directory with the one dataset that it is said to be."""

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from oddish.errors import InvalidInput, InvalidTask, TooLarge, Unavailable
from oddish.exports.errors import InvalidExport
from oddish.exports.registry import Place
from oddish.pull.names import MAX_NAME_BYTES
from oddish.room import is_full
from oddish.tasks.archive import ArchiveLimits, unpack
from oddish.viewer.checking import Report, check
from oddish.viewer.results import id_flaw

SHOWN = 3
"""Errors that a refusal names."""
MOST_CHARACTERS = 1000
"""That it takes for them."""
AGAIN = "Run `oddish export` again, or pack projects/PROJECT/ of a results directory as .tar.gz."
SMALLER = "Export fewer trials at a time, or into several datasets."


@dataclass(frozen=True, slots=True)
class Received:
    """A file with all that came, of ``bytes`` bytes."""

    path: Path
    bytes: int
    sha256: str


def checked(place: Place) -> Place:
    """``place`` itself. Raises ``InvalidInput`` for an id that is none."""
    for identity in (place.project, place.dataset):
        if (flaw := id_flaw(identity)) is not None:
            raise InvalidInput(flaw, fix="Choose another id.")
        if len(identity.encode()) > MAX_NAME_BYTES:
            raise InvalidInput(f"The id {identity[:40]}… has more than {MAX_NAME_BYTES} bytes.", fix="Shorten it.")
    return place


@asynccontextmanager
async def received(body: AsyncIterable[bytes], limits: ArchiveLimits) -> AsyncIterator[Received]:
    """What ``body`` holds, in a file that is gone afterwards. Raises ``TooLarge``, ``Unavailable`` on a full disk."""
    scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="oddish-export-"))
    try:
        yield await _written(body, scratch / "archive.tar.gz", limits.max_bytes)
    except OSError as error:
        if is_full(error):
            raise Unavailable("No space left to read the export.", fix="Free space on the server.") from error
        raise
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


async def _written(body: AsyncIterable[bytes], path: Path, most: int) -> Received:
    digest, size = hashlib.sha256(), 0
    with path.open("xb") as file:
        async for chunk in body:
            size += len(chunk)
            if size > most:
                raise TooLarge(f"The export is larger than {most} bytes.", fix=SMALLER)
            digest.update(chunk)
            await asyncio.to_thread(file.write, chunk)
    return Received(path, size, digest.hexdigest())


def examine(archive: Path, limits: ArchiveLimits, place: Place) -> None:
    """Unpack it beside itself and read all of it.

    Raises ``TooLarge``, and ``InvalidExport`` that names the member or the file and what is wrong with it.
    """
    directory = archive.with_name("results")
    extract(archive, directory, limits)
    report = check(directory)
    errors = [f"{finding.place} {finding.found}" for finding in report.findings if finding.level == "error"]
    if errors:
        more = f" And {len(errors) - SHOWN} more." if len(errors) > SHOWN else ""
        raise InvalidExport(
            f"The export is no sound results directory: {' '.join(errors[:SHOWN])[:MOST_CHARACTERS]}{more}",
            fix="`oddish view DIR --check` says the same of a directory on your machine, and what to do about it.",
        )
    _refuse_others(report, place)


def extract(archive: Path, directory: Path, limits: ArchiveLimits) -> None:
    """Unpack it to ``directory``, in the words of exports."""
    try:
        unpack(archive, directory, limits)
    except InvalidTask as error:
        raise InvalidExport(error.message, fix=AGAIN) from error
    except TooLarge as error:
        raise TooLarge(error.message, fix=SMALLER) from error


def _refuse_others(report: Report, place: Place) -> None:
    held = [f"dataset {project.id}/{dataset.id}" for project in report.projects for dataset in project.datasets]
    held += [f"training run {project.id}/{run.id}" for project in report.projects for run in project.runs]
    if held != [f"dataset {place.name}"] or len(report.projects) > 1:
        told = (", ".join(held) or "no dataset")[:MOST_CHARACTERS]
        raise InvalidExport(
            f"The export holds {told}; its address names dataset {place.name}.",
            fix="Pack one project with this one dataset.",
        )
