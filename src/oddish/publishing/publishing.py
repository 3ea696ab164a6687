"""A dataset in a bucket: made in a directory on this machine, then uploaded as far as the bucket does not have it.

The summary goes last, so that whoever reads the bucket meanwhile finds every trace that it names.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from oddish.errors import Conflict, InvalidInput
from oddish.publishing.bucket import Bucket, BucketFile
from oddish.pull.folder import Folder
from oddish.viewer.exporting import Exported
from oddish.viewer.results import NOTES_LIMIT, PROJECT, SUMMARY, SUMMARY_LIMIT, dataset_path, id_flaw

_ROUNDING = 1
"""Milliseconds by which the same time may differ after it was written down."""


@dataclass(frozen=True, slots=True)
class Published:
    exported: Exported
    uploaded: int
    deleted: int


def publish(
    bucket: Bucket, directory: Path, project: str, dataset: str, export: Callable[[Folder], Exported]
) -> Published:
    """``export`` writes the dataset into the folder at ``directory``, which is kept for the next time.

    Raises what ``export`` and the bucket raise; ``Conflict`` when the bucket's summary is too large to be looked at.
    """
    for flaw in filter(None, map(id_flaw, (project, dataset))):
        raise InvalidInput(flaw, fix="Choose another id.")
    place = dataset_path(project, dataset)
    project_file, summary = f"projects/{project}/{PROJECT}", f"{place}/{SUMMARY}"
    there = bucket.files(place)
    if (found := bucket.file(project_file)) is not None:
        there[project_file] = found
    with Folder(directory) as folder:
        for path, limit in ((project_file, NOTES_LIMIT), (summary, SUMMARY_LIMIT)):
            if path in there and not _is_same(directory / path, there[path]):
                _take_over(bucket, folder, path, there[path], limit)
        exported = export(folder)
        folder.forget_partial()
        mine = [project_file, *_files_below(directory, place)]
        changed = [path for path in mine if path not in there or not _is_same(directory / path, there[path])]
        for paths in ([path for path in changed if path != summary], [path for path in changed if path == summary]):
            if paths:
                bucket.add(directory, paths)
        gone = sorted(path for path in there if path.startswith(f"{place}/traces/") and path not in mine)
        if gone:
            bucket.remove(gone)
    return Published(exported, len(changed), len(gone))


def _take_over(bucket: Bucket, folder: Folder, path: str, file: BucketFile, limit: int) -> None:
    """What somebody else wrote decides whether the dataset may be replaced, and stays if it may not."""
    content = bucket.read(path, limit)
    if len(content) > limit:
        raise Conflict(f"{path} in {bucket.address} has more than {limit} bytes.", fix="Name another dataset.")
    folder.write(tuple(path.split("/")), content)
    if file.modified is not None:
        os.utime(folder.path / path, ns=(file.modified * 1_000_000, file.modified * 1_000_000))


def _is_same(path: Path, file: BucketFile) -> bool:
    try:
        status = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    if status.st_size != file.size or file.modified is None:
        return False
    return abs(status.st_mtime_ns // 1_000_000 - file.modified) <= _ROUNDING


def _files_below(directory: Path, place: str) -> list[str]:
    return sorted(
        found.relative_to(directory).as_posix()
        for found in (directory / place).rglob("*")
        if found.is_file() and not found.is_symlink()
    )
