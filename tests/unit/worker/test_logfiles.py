"""Log files are read while somebody hostile writes them."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.transcript import Source
from oddish.worker import folders
from oddish.worker.folders import Place
from oddish.worker.logfiles import LOOK_BYTES, MAX_FILES, READ_BYTES, LogFiles

TEXTS = (Source("*.txt"),)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    directory = tmp_path / "trial" / "agent"
    directory.mkdir(parents=True)
    return directory


def place(directory: Path) -> Place:
    return Place(directory.parent, directory.name)


def news(files: LogFiles, *, last: bool = False) -> list[tuple[str, bytes, bool]]:
    return [tuple(piece) for piece in files.news(last=last)]


def append(file: Path, data: bytes) -> None:
    with file.open("ab") as stream:
        stream.write(data)


def test_each_look_finds_what_was_appended_since(logs: Path) -> None:
    files = LogFiles(TEXTS, place(logs))
    assert news(files) == []
    append(logs / "a.txt", b"one\ntwo\n")
    assert news(files) == [("a.txt", b"one\ntwo\n", False)]
    assert news(files) == []
    append(logs / "a.txt", b"three\n")
    append(logs / "b.txt", b"other\n")
    append(logs / "c.log", b"not asked for\n")
    assert news(files) == [("a.txt", b"three\n", False), ("b.txt", b"other\n", False)]


def test_a_line_is_news_when_it_ends_or_no_more_will_come(logs: Path) -> None:
    files = LogFiles(TEXTS, place(logs))
    append(logs / "a.txt", b"one\ntw")
    assert news(files) == [("a.txt", b"one\n", False)]
    assert news(files) == []
    append(logs / "a.txt", b"o\nthr")
    assert news(files) == [("a.txt", b"two\n", False)]
    assert news(files, last=True) == [("a.txt", b"thr", False)]
    assert news(files, last=True) == []


def test_a_glance_is_at_files_that_are_known(logs: Path) -> None:
    files = LogFiles(TEXTS, place(logs))
    append(logs / "a.txt", b"one\n")
    assert [path for path, _, _ in files.news(known=True)] == ["a.txt"], "as none is known yet"
    append(logs / "a.txt", b"two\n")
    append(logs / "b.txt", b"other\n")
    assert [tuple(piece) for piece in files.news(known=True)] == [("a.txt", b"two\n", False)]
    assert news(files) == [("b.txt", b"other\n", False)]


def test_another_place_may_have_more_files(logs: Path, tmp_path: Path) -> None:
    append(logs / "a.txt", b"one\n")
    files = LogFiles(TEXTS, place(logs))
    assert files.may_find_more(), "nothing was looked for yet"
    os.utime(logs, (1, 1))
    news(files)
    assert not files.may_find_more()
    files.prefer(place(tmp_path / "elsewhere"))
    assert files.may_find_more()


def test_where_no_file_is_known_one_may_have_come_when_a_folder_has_changed(logs: Path) -> None:
    os.utime(logs, (1, 1))
    files = LogFiles(TEXTS, place(logs))
    news(files)
    assert not files.changed()
    append(logs / "a.txt", b"one\n")
    assert files.changed()


def test_files_are_read_in_the_order_of_their_sources(logs: Path) -> None:
    (logs / "sessions" / "x").mkdir(parents=True)
    append(logs / "printed.txt", b"p\n")
    for name in ("2", "1"):
        append(logs / "sessions" / "x" / f"{name}.jsonl", f"{name}\n".encode())
    append(logs / "sessions" / "0.jsonl", b"not as deep")
    files = LogFiles((Source("sessions/*/*.jsonl"), Source("printed.txt"), Source("*.txt")), place(logs))
    assert [path for path, _, _ in news(files)] == ["sessions/x/1.jsonl", "sessions/x/2.jsonl", "printed.txt"]


@pytest.mark.parametrize("new", [b"", b"new\n", b"a new line that is longer than the old ones\n"])
def test_a_file_that_was_truncated_is_read_from_its_beginning(logs: Path, new: bytes) -> None:
    files = LogFiles(TEXTS, place(logs))
    append(logs / "a.txt", b"the old\ncontent\n")
    news(files)
    (logs / "a.txt").write_bytes(new)
    assert news(files) == [("a.txt", new, True)]
    assert news(files) == []
    append(logs / "a.txt", b"!\n")
    assert news(files) == [("a.txt", b"!\n", False)]


def test_a_file_that_was_replaced_is_read_from_its_beginning(logs: Path) -> None:
    files = LogFiles(TEXTS, place(logs))
    append(logs / "a.txt", b"the old content\n")
    news(files)
    (logs / "new").write_bytes(b"a new file\nwith more lines\n")
    (logs / "new").replace(logs / "a.txt")
    assert news(files) == [("a.txt", b"a new file\nwith more lines\n", True)]


def test_a_file_whose_secrets_are_taken_out_goes_on(logs: Path) -> None:
    files = LogFiles(TEXTS, place(logs))
    append(logs / "a.txt", b"with a correct-horse\nand more\n")
    news(files)
    (logs / "a.txt").write_bytes(b"with a [REDACTED]\nand more\nand the end")
    assert news(files, last=True) == [("a.txt", b"and the end", False)]


def test_a_file_that_was_replaced_by_a_longer_copy_goes_on(logs: Path) -> None:
    files = LogFiles(TEXTS, place(logs))
    append(logs / "a.txt", b"the old content\n")
    news(files)
    (logs / "new").write_bytes(b"the old content\nand more\n")
    (logs / "new").replace(logs / "a.txt")
    assert news(files) == [("a.txt", b"and more\n", False)]


def test_what_a_sandbox_took_with_it_is_read_from_the_copy_of_its_logs(logs: Path, tmp_path: Path) -> None:
    inside = tmp_path / "sandbox" / "logs"
    inside.mkdir(parents=True)
    files = LogFiles(TEXTS, place(logs))
    files.prefer(place(inside))
    append(inside / "a.txt", b"x\n" * 1000)
    append(logs / "a.txt", b"x\n" * 500)
    assert news(files) == [("a.txt", b"x\n" * 1000, False)]
    append(inside / "a.txt", b"the end")
    append(inside / "b.txt", b"other\n")
    shutil.rmtree(logs)
    shutil.copytree(inside, logs)
    shutil.rmtree(inside)
    assert news(files, last=True) == [("a.txt", b"the end", False), ("b.txt", b"other\n", False)]


SECRET = b"correct-horse"


@given(
    parts=st.lists(st.sampled_from([b"said\n", b"x", b"\n", SECRET, b"token " + SECRET + b"\n"]), max_size=30),
    read=st.lists(st.integers(0, 30), max_size=3),
)
def test_a_copy_without_the_secrets_goes_on_where_its_original_was_left(parts: list[bytes], read: list[int]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        inside, copy = Path(directory, "inside"), Path(directory, "copy")
        inside.mkdir()
        files = LogFiles(TEXTS, Place(inside.parent, "inside"), Place(copy.parent, "copy"))
        found = []
        for part, number in zip(parts, range(len(parts)), strict=True):
            append(inside / "a.txt", part)
            if number in read:
                found += news(files)
        copy.mkdir()
        append(copy / "a.txt", b"".join(parts).replace(SECRET, b"[REDACTED]"))
        shutil.rmtree(inside)
        found += news(files, last=True)
    assert not any(restarted for _, _, restarted in found)
    printed = b"".join(data for _, data, _ in found)
    assert printed.replace(SECRET, b"[REDACTED]") == b"".join(parts).replace(SECRET, b"[REDACTED]")


def test_a_copy_that_is_written_again_does_not_repeat_anything(logs: Path, tmp_path: Path) -> None:
    inside = tmp_path / "sandbox" / "logs"
    inside.mkdir(parents=True)
    files = LogFiles(TEXTS, place(logs))
    files.prefer(place(inside))
    append(inside / "a.txt", b"with a correct-horse\n")
    assert len(news(files)) == 1
    shutil.rmtree(inside)
    append(logs / "a.txt", b"with a correct-horse\nand more\n")
    assert news(files) == [("a.txt", b"and more\n", False)]
    (logs / "a.txt").write_bytes(b"with a [REDACTED]\nand more\nand the end")
    assert news(files, last=True) == [("a.txt", b"and the end", False)]


def test_a_copy_that_has_less_than_was_read_is_waited_for(logs: Path, tmp_path: Path) -> None:
    inside = tmp_path / "sandbox" / "logs"
    inside.mkdir(parents=True)
    files = LogFiles(TEXTS, place(logs))
    files.prefer(place(inside))
    append(inside / "a.txt", b"one\ntwo\n")
    news(files)
    shutil.rmtree(inside)
    append(logs / "a.txt", b"1\n")
    assert news(files) == []
    append(logs / "a.txt", b"2\n3\n")
    assert news(files) == [("a.txt", b"3\n", False)]


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
    looks = [news(files, last=True) for _ in range(3)]
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
        append(logs / f"{number:03}.txt", b"x\n")
    assert len(news(LogFiles(TEXTS, place(logs)))) == MAX_FILES
    monkeypatch.setattr(folders, "MAX_ENTRIES", 3)
    assert len(news(LogFiles(TEXTS, place(logs)))) == 3


def test_links_pipes_and_folders_are_left_alone(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("of the worker")
    (logs / "link.txt").symlink_to(tmp_path / "secret.txt")
    (logs / "sessions").symlink_to(tmp_path)
    (logs / "folder.txt").mkdir()
    os.mkfifo(logs / "pipe.txt")
    append(logs / "real.txt", b"x\n")
    files = LogFiles((*TEXTS, Source("sessions/*.txt")), place(logs))
    assert news(files) == [("real.txt", b"x\n", False)]


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
    append(fetched / "a.txt", b"the beginning\n")
    assert news(files) == [("a.txt", b"the beginning\n", False)]
    append(logs / "a.txt", b"the beginning\nand the end\n")
    assert news(files) == [("a.txt", b"and the end\n", False)]
    assert news(files) == []
