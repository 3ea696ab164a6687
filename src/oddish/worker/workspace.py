"""The worker's directories: one per process life, swept when its owner is gone."""

import contextlib
import fcntl
import os
import shutil
from pathlib import Path

from oddish.home import private_directory


class Workspace:
    """``work/<worker id>/`` under home with the attempts of this worker, ``work/tasks/`` shared by all workers.

    The directory is locked for the life of the process; unlocked siblings belong to dead workers and are removed.
    """

    def __init__(self, home: Path, worker_id: str) -> None:
        self._base = private_directory(private_directory(home) / "work")
        self.tasks = private_directory(self._base / "tasks")
        self.sandbox = private_directory(home / "sandboxes")
        self._own = private_directory(self._base / worker_id)
        self._lock = os.open(self._own / "lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def attempt(self, label: str) -> Path:
        """A fresh directory for the attempt ``label``. Raises ``FileExistsError`` for a label used before."""
        path = self._own / label
        path.mkdir(mode=0o700)
        return path

    def discard(self, label: str) -> None:
        shutil.rmtree(self._own / label, ignore_errors=True)

    def sweep(self) -> list[str]:
        """Remove what dead workers left; their ids."""
        removed = []
        for sibling in self._base.iterdir():
            if sibling in (self.tasks, self._own) or not sibling.is_dir():
                continue
            with contextlib.suppress(OSError), (sibling / "lock").open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(sibling, ignore_errors=True)
                removed.append(sibling.name)
        return removed

    def close(self) -> None:
        shutil.rmtree(self._own, ignore_errors=True)
        os.close(self._lock)
