"""Directories of finished trials packed for the way to the server: regular files only, read without following links."""

import gzip
import os
import tarfile
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from oddish.client.errors import NotPacked
from oddish.regular import open_below

RECORDS = frozenset({"result.json", "config.json"})
"""Of the trial itself: what it was, and what it came to."""
VERIFIER_RECORDS = frozenset({"reward.txt", "reward.json", "ctrf.json", "metrics.json"})
"""Of its verifier: what the reward is backed by."""
LONGEST_PATH = 1000
LONGEST_NAME = 255

_COMPRESSION_LEVEL = 1


@dataclass(frozen=True, slots=True)
class TrialFiles:
    """What of a trial directory travels."""

    directory: Path
    files: Sequence[tuple[str, int]]
    """Path relative to the directory, and bytes."""
    left_out: int
    """Links, special files, and files whose names no archive can carry."""

    @property
    def size(self) -> int:
        return sum(size for _, size in self.files)


def trial_files(directory: Path, *, records_only: bool = False) -> TrialFiles:
    """Look through a trial directory; ``records_only`` leaves out logs, trajectories and artifacts.

    Raises OSError when it cannot be listed.
    """
    files: list[tuple[str, int]] = []
    left_out = 0
    waiting = deque([""])
    while waiting:
        parent = waiting.popleft()
        with os.scandir(directory / parent) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        for entry in entries:
            path = f"{parent}/{entry.name}" if parent else entry.name
            if not _can_travel(path):
                left_out += 1
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            elif not entry.is_file(follow_symlinks=False):
                left_out += 1
            elif not records_only or is_record(path):
                files.append((path, entry.stat(follow_symlinks=False).st_size))
    return TrialFiles(directory, files, left_out)


def is_record(path: str) -> bool:
    """Whether a file of a trial is part of its record, small and needed to judge it."""
    *folders, name = path.split("/")
    if not folders:
        return name in RECORDS
    steps = len(folders) == 3 and folders[0] == "steps"
    return name in VERIFIER_RECORDS and folders[-1] == "verifier" and (len(folders) == 1 or steps)


def write_trials(trials: Mapping[int, TrialFiles], target: IO[bytes]) -> None:
    """Write a ``.tar.gz`` with one directory per trial, named by its place in the batch.

    Raises ``NotPacked`` naming a file that cannot be read, or that changes meanwhile.
    """
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION_LEVEL, fileobj=target, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for place, trial in trials.items():
            folder = tarfile.TarInfo(str(place))
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(folder)
            for path, _ in trial.files:
                _add(archive, trial.directory, path, f"{place}/{path}")


def _add(archive: tarfile.TarFile, directory: Path, path: str, name: str) -> None:
    try:
        with os.fdopen(open_below(directory, path), "rb") as file:
            member = tarfile.TarInfo(name)
            member.size = os.fstat(file.fileno()).st_size
            archive.addfile(member, file)
    except OSError as error:
        raise NotPacked(
            f"{directory / path} cannot be packed: {error.strerror or error}.", fix="Make it readable, or leave it out."
        ) from error


def _can_travel(path: str) -> bool:
    """As far as the server unpacks it."""
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return False
    unsafe = "\\" in path or any(ord(character) < 32 or ord(character) == 127 for character in path)
    return not unsafe and len(encoded) <= LONGEST_PATH and len(path.rpartition("/")[2].encode()) <= LONGEST_NAME
