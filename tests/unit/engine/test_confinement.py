"""Files of an attempt are opened where they are named, not where a link leads."""

import os
import shutil
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from oddish.engine.confinement import confine, open_beneath

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="attempts run on Linux")


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    directory = tmp_path / "attempt"
    (directory / "agent").mkdir(parents=True)
    (tmp_path / "key").write_text("the worker's own")
    with monkeypatch.context() as process:
        for module, name in (("builtins", "open"), ("io", "open"), ("tarfile", "bltn_open")):
            process.setattr(f"{module}.{name}", vars(sys.modules[module])[name])
        confine(directory)
        yield directory


@pytest.mark.parametrize("target", ["{key}", "../../key", "../agent/../../key"])
def test_a_link_out_is_neither_read_nor_written(attempt: Path, target: str) -> None:
    key = attempt.parent / "key"
    log = attempt / "agent" / "trajectory.json"
    log.symlink_to(target.format(key=key))
    with pytest.raises(PermissionError, match="refused"):
        log.read_text()
    with pytest.raises(PermissionError, match="refused"):
        log.write_text("mine")
    with pytest.raises(PermissionError, match="refused"):
        shutil.copyfile(log, attempt / "copy")
    assert key.read_text() == "the worker's own"


@pytest.mark.parametrize("spelling", ["/{log}", "//{log}", "{attempt}/.//agent/x/../log", "agent/log"])
def test_nor_by_another_spelling(attempt: Path, monkeypatch: pytest.MonkeyPatch, spelling: str) -> None:
    log = attempt / "agent" / "log"
    log.symlink_to(attempt.parent / "key")
    monkeypatch.chdir(attempt)
    name = spelling.format(attempt=attempt, log=log)
    for file in (name, os.fsencode(name)):
        with pytest.raises(PermissionError, match="refused"), open(file):  # noqa: PTH123
            pass


def test_nor_is_a_file_that_a_link_would_make(attempt: Path) -> None:
    (attempt / "agent" / "exit-code.txt").symlink_to(attempt.parent / "new")
    with pytest.raises(PermissionError), (attempt / "agent" / "exit-code.txt").open("w"):
        pass
    assert not (attempt.parent / "new").exists()


def test_a_directory_that_is_a_link_leads_nowhere(attempt: Path) -> None:
    (attempt / "agent" / "sessions").symlink_to(attempt.parent)
    with pytest.raises(PermissionError):
        (attempt / "agent" / "sessions" / "key").read_bytes()


def test_what_lies_behind_such_a_directory_is_not_packed(attempt: Path) -> None:
    (attempt / "agent" / "published").symlink_to(attempt.parent)
    with (attempt / "pack.tar").open("wb") as pack, tarfile.open(fileobj=pack, mode="w") as archive:
        archive.add(attempt / "agent", arcname="agent")
        for behind in ("agent/published/key", "agent/published/"):
            with pytest.raises(PermissionError, match="refused"):
                archive.add(f"{attempt}/{behind}", arcname="key")


def test_links_within_are_followed(attempt: Path) -> None:
    (attempt / "agent" / "2026.jsonl").write_text("{}")
    (attempt / "agent" / "latest").symlink_to("2026.jsonl")
    assert (attempt / "agent" / "latest").read_text() == "{}"


def test_a_pipe_is_not_waited_for(attempt: Path) -> None:
    os.mkfifo(attempt / "agent" / "pipe")
    for mode in ("r", "w"):
        with pytest.raises(PermissionError), (attempt / "agent" / "pipe").open(mode):
            pass


def test_whatever_is_not_below_is_opened_as_ever(attempt: Path) -> None:
    (attempt.parent / "link").symlink_to("key")
    assert (attempt.parent / "link").read_text() == "the worker's own"
    (attempt / "agent" / "new.txt").write_text("one")
    with (attempt / "agent" / "new.txt").open("a") as file:
        file.write(" two")
    assert (attempt / "agent" / "new.txt").read_text() == "one two"
    with pytest.raises(FileNotFoundError):
        (attempt / "agent" / "none").read_text()
    with pytest.raises(FileExistsError):
        (attempt / "agent" / "new.txt").open("x")


def test_a_directory_reached_by_a_link_is_confined_under_both_names(attempt: Path) -> None:
    (attempt.parent / "home").symlink_to(attempt)
    confine(attempt.parent / "home")
    (attempt / "agent" / "log").symlink_to(attempt.parent / "key")
    for directory in (attempt, attempt.parent / "home"):
        with pytest.raises(PermissionError):
            (directory / "agent" / "log").read_text()


def test_an_old_kernel_follows_no_link_at_all(attempt: Path) -> None:
    (attempt / "agent" / "log").write_text("text")
    (attempt / "agent" / "latest").symlink_to("log")
    (attempt / "folder").symlink_to("agent")
    os.close(open_beneath(attempt, Path("agent/log"), os.O_RDONLY, resolve=False))
    for path in ("agent/latest", "folder/log"):
        with pytest.raises(PermissionError):
            open_beneath(attempt, Path(path), os.O_RDONLY, resolve=False)
