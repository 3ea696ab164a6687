import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oddish.stack import client, process
from oddish.stack.client import Stack
from oddish.stack.process import Process
from oddish.stack.start import DETACHED

PROGRAM = (sys.executable, str(Path(__file__).with_name("standin.py")), DETACHED)

Start = Callable[[], Stack]


def belonging_to(home: Path) -> list[Process]:
    """Every living process that was told about ``home``, by argument or environment."""

    def mentions(pid: int) -> bool:
        try:
            told = (process.PROC / str(pid) / "environ").read_bytes()
        except OSError:
            told = b""
        return f"ODDISH_HOME={home}\0".encode() in told

    pids = (int(path.name) for path in process.PROC.iterdir() if path.name.isdigit())
    me = process.current()
    return [living for pid in pids if pid != me.pid and mentions(pid) and (living := process.process(pid)) is not None]


@pytest.fixture(scope="session")
def migrated_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a stack that has run and was stopped."""
    home = tmp_path_factory.mktemp("stack") / "home"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ODDISH_HOME", str(home))
        client.ensure(program=PROGRAM)
        client.stop()
    return home


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Paths of homes are too long here for a socket; a stack that is killed leaves its substitute."""
    with tempfile.TemporaryDirectory(prefix="oddish-sockets-", ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o755)
        monkeypatch.setenv("XDG_RUNTIME_DIR", directory)
        yield


@pytest.fixture
def home(oddish_home: Path, migrated_home: Path, sockets: None) -> Iterator[Path]:
    """A directory where a stack has run before; whatever runs there ends with the test."""
    shutil.copytree(migrated_home, oddish_home)
    yield oddish_home
    client.stop(timeout=30)
    left = belonging_to(oddish_home)
    process.end(left, steps=((process.signal.SIGKILL, 5.0),))
    assert left == []


@pytest.fixture
def start(home: Path) -> Start:
    return lambda: client.ensure(program=PROGRAM)
