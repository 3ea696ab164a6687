"""Datasets of results directories that a server shows to the caller's organisation."""

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

from oddish.client.archive import packed
from oddish.client.paths import segment
from oddish.client.shapes import items, members
from oddish.client.trialarchive import trial_files
from oddish.client.types import JSON
from oddish.errors import InvalidInput
from oddish.tasks.package import PublishedFile

if TYPE_CHECKING:
    from oddish.client.connection import Connection

ARCHIVE_TYPE = "application/octet-stream"


class Export(TypedDict):
    project: str
    dataset: str
    url: str
    """Of its page."""
    bytes: int
    """Of the archive, compressed."""
    sha256: str
    exported_by: str
    exported_at: str


class ExportPage(TypedDict):
    exports: list[Export]
    cursor: str | None


class DeletedExport(TypedDict):
    message: str
    project: str
    dataset: str


class Exports:
    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def send(self, directory: Path, project: str, dataset: str) -> Export:
        """Show a dataset of the results directory, in place of the one that the server has of that name."""
        with packed(_files(directory, project, dataset), f"dataset {project}/{dataset}") as archive:
            answer = self._connection.send_file(_path(project, dataset), archive.content, ARCHIVE_TYPE)
        return members(answer, Export, *Export.__required_keys__)

    def list(self, *, project: str | None = None, limit: int = 100, cursor: str | None = None) -> ExportPage:
        """By project and dataset; ``cursor`` is that of the page before."""
        given = {"project": project, "limit": limit, "cursor": cursor}
        params = {name: value for name, value in given.items() if value is not None}
        found = members(self._connection.call("GET", "/viewer/exports", params=params), ExportPage, "exports", "cursor")
        items(cast("JSON", found["exports"]), Export, *Export.__required_keys__)
        return found

    def remove(self, project: str, dataset: str) -> DeletedExport:
        """Show it no more."""
        return members(self._connection.call("DELETE", _path(project, dataset)), DeletedExport, "message")


def _path(project: str, dataset: str) -> str:
    return f"/viewer/exports/{segment(project, 'a project')}/{segment(dataset, 'a dataset')}"


def _files(directory: Path, project: str, dataset: str) -> list[PublishedFile]:
    """The dataset with its project's own words; links and special files stay here."""
    from oddish.viewer.results import PROJECT, dataset_path

    place = dataset_path(project, dataset)
    try:
        found = [(f"{place}/{path}", size) for path, size in trial_files(directory / place).files]
        about = f"projects/{project}/{PROJECT}"
        status = os.lstat(directory / about)
    except OSError as error:
        raise InvalidInput(
            f"{directory} has no dataset {project}/{dataset}: {error.strerror}.", fix="Name a results directory."
        ) from error
    if stat.S_ISREG(status.st_mode):
        found.append((about, status.st_size))
    return [
        PublishedFile(path, directory / path, "file", size=size, executable=False, target=None) for path, size in found
    ]
