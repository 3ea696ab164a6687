"""Log files are read while somebody hostile writes them."""

import os
import shutil
from pathlib import Path

import pytest

from oddish.transcript import Source
from oddish.worker import logfiles
from oddish.worker.logfiles import LOOK_BYTES, MAX_FILES, READ_BYTES, LogFiles, Place

TEXTS = (Source("*.txt"),)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    directory = tmp_path / "trial" / "agent"
    directory.mkdir(parents=True)
    return directory


def place(directory: Path) -> Place:
    return Place(directory.parent, directory.name)


def news(files: LogFiles) -> list[tuple[str, bytes, bool]]:
    return [tuple(piece) for piece in files.news()]


def append(file: Path, data: bytes) -> None:
    with file.open("ab") as stream:
        stream.write(data)


def test_each_look_finds_what_was_appended_since(logs: Path) -> None:
    files = LogFiles(TEXTS, place(logs))
    assert news(files) == []
    append(logs / "a.txt", b"one\ntw")
    assert news(files) == [("a.txt", b"one\ntw", False)]
    assert news(files) == []
    append(logs / "a.txt", b"o\n")
    append(logs / "b.txt", b"other")
    append(logs / "c.log", b"not asked for")
    assert news(files) == [("a.txt", b"o\n", False), ("b.txt", b"other", False)]


def test_files_are_read_in_the_order_of_their_sources(logs: Path) -> None:
    (logs / "sessions" / "x").mkdir(parents=True)
    append(logs / "printed.txt", b"p")
    for name in ("2", "1"):
        append(logs / "sessions" / "x" / f"{name}.jsonl", name.encode())
    append(logs / "sessions" / "0.jsonl", b"not as deep")
    files = LogFiles((Source("sessions/*/*.jsonl"), Source("printed.txt"), Source("*.txt")), place(logs))
    assert [path for path, _, _ in news(files)] == ["sessions/x/1.jsonl", "sessions/x/2.jsonl", "printed.txt"]


@pytest.mark.parametrize("new", [b"", b"new", b"a new file that is longer than the old one"])
def test_a_file_that_was_truncated_or_replaced_is_read_from_its_beginning(logs: Path, new: bytes) -> None:
    files = LogFiles(TEXTS, place(logs))
    append(logs / "a.txt", b"the old content")
    news(files)
    (logs / "a.txt").write_bytes(new)
    assert news(files) == [("a.txt", new, True)]
    assert news(files) == []
    append(logs / "a.txt", b"!")
    assert news(files) == [("a.txt", b"!", False)]


def test_a_file_that_was_replaced_by_a_longer_copy_goes_on(logs: Path) -> None:
    files = LogFiles(TEXTS, place(logs))
    append(logs / "a.txt", b"the old content")
    news(files)
    (logs / "new").write_bytes(b"the old content and more")
    (logs / "new").replace(logs / "a.txt")
    assert news(files) == [("a.txt", b" and more", False)]


def test_what_a_sandbox_took_with_it_is_read_from_the_copy_of_its_logs(logs: Path, tmp_path: Path) -> None:
    inside = tmp_path / "sandbox" / "logs"
    inside.mkdir(parents=True)
    files = LogFiles(TEXTS, place(logs))
    files.prefer(place(inside))
    append(inside / "a.txt", b"x" * 1000)
    append(logs / "a.txt", b"x" * 500)
    assert news(files) == [("a.txt", b"x" * 1000, False)]
    append(inside / "a.txt", b"the end")
    append(inside / "b.txt", b"other")
    shutil.rmtree(logs)
    shutil.copytree(inside, logs)
    shutil.rmtree(inside)
    assert news(files) == [("a.txt", b"the end", False), ("b.txt", b"other", False)]


def test_a_copy_that_is_not_the_same_does_not_repeat_anything(logs: Path, tmp_path: Path) -> None:
    inside = tmp_path / "sandbox" / "logs"
    inside.mkdir(parents=True)
    files = LogFiles(TEXTS, place(logs))
    files.prefer(place(inside))
    append(inside / "a.txt", b"with a secret")
    news(files)
    shutil.rmtree(inside)
    append(logs / "a.txt", b"with a [REDACTED]")
    assert news(files) == []


def test_a_document_is_read_as_a_whole_whenever_it_changed(logs: Path) -> None:
    files = LogFiles((Source("doc.json", rewritten=True, limit=10),), place(logs))
    (logs / "doc.json").write_bytes(b"[1]")
    assert news(files) == [("doc.json", b"[1]", False)]
    assert news(files) == []
    (logs / "doc.json").write_bytes(b"[1, 2]")
    assert news(files) == [("doc.json", b"[1, 2]", False)]
    (logs / "doc.json").write_bytes(b"[1, 2, 3, 4, 5]")
    assert news(files) == [], "it is larger than the limit"


def test_a_long_file_comes_in_several_looks(logs: Path) -> None:
    files = LogFiles(TEXTS, place(logs))
    content = os.urandom(READ_BYTES + 10)
    append(logs / "a.txt", content)
    looks = [news(files), news(files), news(files)]
    assert [len(data) for look in looks for _, data, _ in look] == [READ_BYTES, 10]
    assert b"".join(data for look in looks for _, data, _ in look) == content


def test_no_look_reads_more_than_its_limit(logs: Path) -> None:
    files = LogFiles(TEXTS, place(logs))
    for number in range(LOOK_BYTES // READ_BYTES + 1):
        with (logs / f"{number}.txt").open("wb") as sparse:
            sparse.truncate(1 << 40)
    assert sum(len(data) for _, data, _ in news(files)) == LOOK_BYTES


def test_only_so_many_files_are_read(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(MAX_FILES + 1):
        append(logs / f"{number:03}.txt", b"x")
    assert len(news(LogFiles(TEXTS, place(logs)))) == MAX_FILES
    monkeypatch.setattr(logfiles, "MAX_ENTRIES", 3)
    assert len(news(LogFiles(TEXTS, place(logs)))) == 3


def test_links_pipes_and_folders_are_left_alone(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("of the worker")
    (logs / "link.txt").symlink_to(tmp_path / "secret.txt")
    (logs / "sessions").symlink_to(tmp_path)
    (logs / "folder.txt").mkdir()
    os.mkfifo(logs / "pipe.txt")
    append(logs / "real.txt", b"x")
    files = LogFiles((*TEXTS, Source("sessions/*.txt")), place(logs))
    assert news(files) == [("real.txt", b"x", False)]


def test_a_folder_that_was_replaced_by_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    append(tmp_path / "outside" / "a.txt", b"of the worker")
    (tmp_path / "root" / "logs").mkdir(parents=True)
    (tmp_path / "root" / "logs" / "agent").symlink_to(tmp_path / "outside")
    assert news(LogFiles(TEXTS, Place(tmp_path / "root", "logs/agent"))) == []


def test_what_came_too_late_to_be_fetched_is_read_from_the_copy(logs: Path, tmp_path: Path) -> None:
    fetched = tmp_path / "live"
    fetched.mkdir()
    files = LogFiles(TEXTS, place(logs))
    files.prefer(Place(tmp_path, "live"))
    append(fetched / "a.txt", b"the beginning")
    assert news(files) == [("a.txt", b"the beginning", False)]
    append(logs / "a.txt", b"the beginning and the end")
    assert news(files) == [("a.txt", b" and the end", False)]
    assert news(files) == []
