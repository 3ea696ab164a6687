"""Which ``oddish view`` runs where, for other commands. Standard library only: the command line imports it."""

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from oddish.home import home, private_directory, write_atomically
from oddish.stack.process import Process, current


@dataclass(frozen=True, slots=True)
class View:
    """One process."""

    pid: int
    process_started: str
    url: str
    directory: str
    token: str
    """What it lets programs in by. Never show it."""

    @property
    def process(self) -> Process:
        return Process(self.pid, self.process_started)


@contextmanager
def announced(url: str, directory: Path, token: str) -> Iterator[None]:
    """Say that this process shows ``directory``. Without a place to say it, it is shown all the same."""
    own = current()
    view = View(own.pid, own.started, url, str(directory), token)
    file: Path | None = None
    with contextlib.suppress(OSError):
        file = private_directory(_place()) / f"{own.pid}.json"
        write_atomically(file, json.dumps(asdict(view)).encode())
    try:
        yield
    finally:
        if file is not None:
            with contextlib.suppress(OSError):
                file.unlink()


def running() -> list[View]:
    """Those of this user that run, the latest last; what others left behind is removed."""
    found: list[tuple[float, View]] = []
    for file in _place().glob("*.json"):
        try:
            view = View(**json.loads(file.read_bytes()))
            alive, since = view.process.alive(), file.stat().st_mtime
        except (OSError, ValueError, TypeError):
            continue
        if alive:
            found.append((since, view))
        else:
            file.unlink(missing_ok=True)
    return [view for _, view in sorted(found, key=lambda entry: entry[0])]


def _place() -> Path:
    return home() / "run" / "views"
