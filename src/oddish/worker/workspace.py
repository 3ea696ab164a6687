"""The worker's directories: one per process life, swept when its owner is gone."""

import contextlib
import fcntl
import os
import secrets
import shutil
from pathlib import Path

from oddish.home import private_directory, write_atomically


class Workspace:
    """``work/<worker id>/`` under home with the attempts of this worker, ``work/tasks/`` and
    ``work/engines/`` shared by all workers.

    The directory is locked for the life of the process; unlocked siblings belong to dead workers and are removed.
    """

    def __init__(self, home: Path, worker_id: str) -> None:
        self._base = private_directory(private_directory(home) / "work")
        self.tasks = private_directory(self._base / "tasks")
        self.engines = private_directory(self._base / "engines")
        self.sandbox = private_directory(home / "sandboxes")
        self._own = private_directory(self._base / worker_id)
        self._lock = os.open(self._own / "lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        # Whoever looks whether this worker lives holds the lock for a moment.
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        write_atomically(self._base / "owner", secrets.token_hex(4).encode(), replace=False)
        self.owner = (self._base / "owner").read_text()
        """What the workers of this state directory, and nobody else, put into the names of what they make elsewhere."""

    def living(self) -> set[str]:
        """The labels of the attempts of all workers of this state directory that live."""
        workers = [path for path in self._base.iterdir() if path == self._own or _is_locked(path / "lock")]
        return {attempt.name for worker in workers for attempt in worker.iterdir() if attempt.is_dir()}

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
            if sibling in (self.tasks, self.engines, self._own) or not sibling.is_dir():
                continue
            with contextlib.suppress(OSError), (sibling / "lock").open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(sibling, ignore_errors=True)
                removed.append(sibling.name)
        return removed

    def close(self) -> None:
        shutil.rmtree(self._own, ignore_errors=True)
        os.close(self._lock)


def _is_locked(file: Path) -> bool:
    try:
        with file.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False
