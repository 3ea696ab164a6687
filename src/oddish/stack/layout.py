"""Where the local stack keeps its files. Standard library only: the command line imports it."""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from oddish.home import home, private_directory


@dataclass(frozen=True, slots=True)
class Layout:
    home: Path

    @property
    def run(self) -> Path:
        return self.home / "run"

    @property
    def state(self) -> Path:
        return self.run / "stack.json"

    @property
    def lock(self) -> Path:
        return self.run / "stack.lock"

    @property
    def token(self) -> Path:
        return self.run / "token"

    @property
    def activity(self) -> Path:
        """Its modification time is when the API last answered an authenticated request."""
        return self.run / "activity"

    @property
    def postgres(self) -> Path:
        return self.home / "postgres"

    @property
    def store(self) -> Path:
        return self.home / "store"

    def log(self, name: str) -> Path:
        return self.home / "logs" / f"{name}.log"

    def logs(self) -> list[Path]:
        return sorted((self.home / "logs").glob("*.log"))

    def create(self) -> None:
        for directory in (self.home, self.run, self.home / "logs", self.store):
            private_directory(directory)


def layout() -> Layout:
    return Layout(home())


def write_atomically(path: Path, content: bytes, *, replace: bool = True) -> None:
    """A 0600 file that is there in full or not at all; without ``replace`` an existing one stays."""
    temporary = path.with_name(f".{path.name}-{os.getpid()}-{time.monotonic_ns()}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
            target.write(content)
        if replace:
            temporary.replace(path)
        else:
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(temporary)
    finally:
        temporary.unlink(missing_ok=True)
