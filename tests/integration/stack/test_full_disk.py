"""A stack on a small disk of its own, which only root can make."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oddish.errors import Unavailable
from oddish.stack import client, process
from oddish.stack.layout import layout

from .conftest import PROGRAM, belonging_to

type Resize = Callable[[str], bool]


@pytest.fixture
def resize(oddish_home: Path) -> Iterator[Resize]:
    """Sets the size of the disk that the home directory is."""
    oddish_home.mkdir()
    if not mount("size=1m", oddish_home):
        pytest.skip("a disk of a chosen size cannot be mounted here")
    yield lambda size: mount(f"remount,size={size}", oddish_home)
    client.stop()
    process.end(belonging_to(oddish_home), steps=((process.signal.SIGKILL, 5.0),))
    subprocess.run(["umount", str(oddish_home)], check=True)


def mount(options: str, directory: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(directory)]
    return (
        shutil.which("mount") is not None and subprocess.run(command, check=False, capture_output=True).returncode == 0
    )


@pytest.mark.parametrize("size", ["1m", "38m", "40m", "45m"])
def test_a_start_on_a_full_disk_says_so_and_the_next_one_works(resize: Resize, size: str) -> None:
    resize(size)
    with pytest.raises(Unavailable, match="No space left on device") as caught:
        client.ensure(program=PROGRAM)
    assert "Traceback" not in str(caught.value)
    resize("300m")
    assert client.ensure(program=PROGRAM).healthy()


def test_a_disk_that_fills_up_does_not_keep_a_stack_from_stopping(resize: Resize, oddish_home: Path) -> None:
    resize("300m")
    stack = client.ensure(program=PROGRAM)
    used = shutil.disk_usage(oddish_home).used
    resize(str(used))
    assert str(client.stop()) == f"Stopped (process {stack.pid})."
    assert belonging_to(oddish_home) == []
    assert not layout().state.exists()
    resize("300m")
    assert client.ensure(program=PROGRAM).healthy()
