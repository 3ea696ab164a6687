"""One command in a sandbox tells what is new in its logs, and whatever it answers stays in its folder."""

import base64
import subprocess
from pathlib import Path

import pytest

from oddish.engine import fetching
from oddish.engine.fetching import DOCUMENT_BYTES, Mirror
from oddish.transcript import Source

SOURCES = (Source("*.txt"), Source("sessions/*/*.jsonl"), Source("doc.json", rewritten=True))
MOST = 1000


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "it's logs" / "sessions" / "a").mkdir(parents=True)
    return tmp_path / "it's logs"


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    return Mirror(tmp_path / "mirror", SOURCES)


def asked(mirror: Mirror, logs: Path, most: int = MOST) -> str:
    script = mirror.script(str(logs), most)
    return subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True).stdout


def fetched(mirror: Mirror, logs: Path, most: int = MOST) -> dict[str, bytes]:
    mirror.take(asked(mirror, logs, most))
    found = [path for path in mirror.folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(mirror.folder)): path.read_bytes() for path in found}


def test_what_is_new_is_fetched_and_nothing_else(mirror: Mirror, logs: Path) -> None:
    (logs / "a.txt").write_bytes(b"one\n\0\xff")
    (logs / "a b'.txt").write_bytes(b"odd name")
    (logs / "sessions" / "a" / "1.jsonl").write_bytes(b"{}")
    (logs / "doc.json").write_bytes(b"[1]")
    (logs / "other").write_bytes(b"not asked for")
    expected = {"a.txt": b"one\n\0\xff", "a b'.txt": b"odd name", "sessions/a/1.jsonl": b"{}", "doc.json": b"[1]"}
    assert fetched(mirror, logs) == expected
    assert asked(mirror, logs) == ""
    assert not mirror.take("")
    with (logs / "a.txt").open("ab") as file:
        file.write(b"two")
    (logs / "doc.json").write_bytes(b"[2]")
    assert fetched(mirror, logs) == expected | {"a.txt": b"one\n\0\xfftwo", "doc.json": b"[2]"}


def test_a_file_that_shrank_is_fetched_anew(mirror: Mirror, logs: Path) -> None:
    (logs / "a.txt").write_bytes(b"long content")
    fetched(mirror, logs)
    (logs / "a.txt").write_bytes(b"short")
    assert fetched(mirror, logs) == {"a.txt": b"short"}


def test_no_answer_is_longer_than_asked_for_and_the_next_one_goes_on(mirror: Mirror, logs: Path) -> None:
    (logs / "a.txt").write_bytes(b"x" * 100)
    assert fetched(mirror, logs, 60) == {"a.txt": b"x" * 60}
    assert fetched(mirror, logs, 60) == {"a.txt": b"x" * 100}


def test_links_pipes_and_large_documents_stay_where_they_are(mirror: Mirror, logs: Path) -> None:
    (logs / "link.txt").symlink_to("/etc/passwd")
    (logs / "folder.txt").mkdir()
    (logs / "doc.json").write_bytes(b"x" * (DOCUMENT_BYTES + 1))
    assert fetched(mirror, logs) == {}


def test_without_logs_there_is_nothing(mirror: Mirror, tmp_path: Path) -> None:
    assert asked(mirror, tmp_path / "absent") == ""


def answer(sign: str, mark: object, path: str, data: bytes = b"x") -> str:
    return f"{sign} {mark} {path}\n{base64.b64encode(data).decode()}\n.\n"


@pytest.mark.parametrize(
    "hostile",
    [
        answer("+", 0, "../a.txt"),
        answer("+", 0, "/etc/a.txt"),
        answer("+", 0, "sessions/../a.jsonl"),
        answer("+", 0, "sessions/a.txt"),
        answer("+", 0, "..txt\0.txt"),
        answer("+", 0, f"{'x' * 2000}.txt"),
        answer("+", 5, "unknown.txt"),
        answer("+", "9" * 5000, "a.txt"),
        answer("+", -1, "a.txt"),
        answer("=", 0, "a.txt"),
        answer("+", 0, "doc.json"),
        "+ 0 a.txt\nno base64!\n.\n",
        "+ 0 a.txt\neHg=",
        "words of the agent",
    ],
)
def test_an_answer_that_is_none_is_not_taken(mirror: Mirror, hostile: str) -> None:
    assert not mirror.take(hostile)
    assert not mirror.folder.exists()


def test_only_so_much_is_kept(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "MAX_FILES", 2)
    monkeypatch.setattr(fetching, "MAX_BYTES", 5)
    for name in ("a", "b", "c"):
        mirror.take(answer("+", 0, f"{name}.txt"))
    mirror.take(answer("+", 1, "a.txt", b"1234"))
    assert {path.name: path.read_bytes() for path in mirror.folder.iterdir()} == {"a.txt": b"x", "b.txt": b"x"}
