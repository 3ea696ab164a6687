"""A folder that others fill: links in it lead nowhere, files appear whole, interrupted ones go on."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from oddish.errors import Conflict
from oddish.pull.folder import PARTIAL, Folder, InTheWay
from oddish.pull.transfer import Announced, Damaged, Receiver, Stopped, receive

CONTENT = b"0123456789" * 1000
FILE = Announced("agent/log.txt", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
PLACE = ("trial", "agent", "log.txt")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with Folder(tmp_path / "out") as folder:
        yield folder


def sending(content: bytes, *, until: int | None = None, asked: list[int] | None = None) -> Callable[[Receiver], None]:
    """Sends from where the receiver stands, up to where the connection breaks."""

    def fetch(receiver: Receiver) -> None:
        if asked is not None:
            asked.append(receiver.size)
        receiver.write(content[receiver.size : until])
        if until is not None:
            raise ConnectionResetError

    return fetch


def test_a_file_that_is_here_is_not_asked_for_and_a_changed_one_of_the_same_size_is(folder: Folder) -> None:
    assert receive(folder, FILE, PLACE, sending(CONTENT), Event()) == "saved"
    there = folder.path.joinpath(*PLACE)
    assert there.read_bytes() == CONTENT
    assert receive(folder, FILE, PLACE, lambda _: pytest.fail("asked for"), Event()) == "kept"
    there.write_bytes(CONTENT[::-1])
    assert receive(folder, FILE, PLACE, sending(CONTENT), Event()) == "saved"
    assert there.read_bytes() == CONTENT


def test_an_interrupted_file_is_not_in_place_and_goes_on_where_it_was(folder: Folder) -> None:
    asked: list[int] = []
    with pytest.raises(ConnectionResetError):
        receive(folder, FILE, PLACE, sending(CONTENT, until=4000, asked=asked), Event())
    assert not folder.path.joinpath(*PLACE).exists()
    assert receive(folder, FILE, PLACE, sending(CONTENT, asked=asked), Event()) == "saved"
    assert asked == [0, 4000]
    assert list(folder.path.joinpath(PARTIAL).iterdir()) == []


def test_what_is_left_of_other_content_is_thrown_away(folder: Folder) -> None:
    with pytest.raises(ConnectionResetError):
        receive(folder, FILE, PLACE, sending(b"x" * 5000, until=5000), Event())
    asked: list[int] = []
    assert receive(folder, FILE, PLACE, sending(CONTENT, asked=asked), Event()) == "saved"
    assert asked == [5000, 0]


@pytest.mark.parametrize(
    "content", [CONTENT + b"more", CONTENT[:-1] + b"!", CONTENT[:-1]], ids=["long", "other", "short"]
)
def test_what_was_not_announced_does_not_get_into_place(folder: Folder, content: bytes) -> None:
    with pytest.raises(Damaged):
        receive(folder, FILE, PLACE, sending(content), Event())
    assert not folder.path.joinpath(*PLACE).exists()


def test_a_stopped_pull_takes_nothing_more(folder: Folder) -> None:
    stop = Event()
    stop.set()
    with pytest.raises(Stopped):
        receive(folder, FILE, PLACE, sending(CONTENT), stop)


def test_links_are_not_followed(folder: Folder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    victim = outside / "victim"
    victim.write_bytes(b"precious")
    (folder.path / "trial").mkdir()
    (folder.path / "trial" / "agent").symlink_to(outside)
    with pytest.raises(InTheWay, match="trial/agent"):
        receive(folder, FILE, PLACE, sending(CONTENT), Event())
    (folder.path / "trial" / "agent").unlink()
    (folder.path / "trial" / "agent").mkdir()
    (folder.path.joinpath(*PLACE)).symlink_to(victim)
    assert not folder.holds(PLACE, 8, hashlib.sha256(b"precious").hexdigest())
    assert receive(folder, FILE, PLACE, sending(CONTENT), Event()) == "saved"
    assert not folder.path.joinpath(*PLACE).is_symlink()
    assert (victim.read_bytes(), sorted(outside.iterdir())) == (b"precious", [victim])
    (folder.path / "pipe").mkdir()
    os.mkfifo(folder.path / "pipe" / "log.txt")
    assert receive(folder, FILE, ("pipe", "log.txt"), sending(CONTENT), Event()) == "saved"


def test_a_directory_in_the_place_of_a_file_is_named(folder: Folder) -> None:
    folder.make(PLACE)
    with pytest.raises(InTheWay, match=r"trial/agent/log\.txt"):
        receive(folder, FILE, PLACE, sending(CONTENT), Event())


def test_a_folder_has_one_writer_and_keeps_nothing_of_its_own(tmp_path: Path) -> None:
    with Folder(tmp_path / "out") as folder:
        assert folder.write_json(("a", "b.json"), {"x": 1})
        assert not folder.write_json(("a", "b.json"), {"x": 1})
        with pytest.raises(Conflict), Folder(tmp_path / "out"):
            pass
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a"]
    with Folder(tmp_path / "out") as folder:
        folder.remove(("a", "b.json"))
        assert folder.names(()) == []
