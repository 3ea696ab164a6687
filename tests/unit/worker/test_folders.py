"""A search finds files by their patterns, and tells whether another one could find others."""

import os
from pathlib import Path

import pytest

from oddish.worker import folders
from oddish.worker.folders import Place, Search

PATTERNS = ("*.txt", "sessions/*/*.jsonl")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Folders that have not changed for long."""
    (tmp_path / "agent" / "sessions" / "one").mkdir(parents=True)
    (tmp_path / "agent" / "output.txt").write_text("said\n")
    (tmp_path / "agent" / "sessions" / "one" / "a.jsonl").write_text("{}\n")
    age(tmp_path / "agent")
    return tmp_path / "agent"


def age(logs: Path) -> None:
    for folder, _, _ in os.walk(logs):
        os.utime(folder, (1, 1))


def searched(logs: Path) -> Search:
    search = Search()
    found(search, logs)
    return search


def found(search: Search, logs: Path) -> list[tuple[str, str]]:
    place = Place(logs.parent, logs.name)
    return [(pattern, path) for pattern, path, _ in search.matching(place, PATTERNS)]


def test_files_are_found_with_their_patterns(logs: Path) -> None:
    assert found(Search(), logs) == [(PATTERNS[0], "output.txt"), (PATTERNS[1], "sessions/one/a.jsonl")]


def test_a_file_that_grows_needs_no_other_search(logs: Path) -> None:
    search = searched(logs)
    (logs / "output.txt").write_text("said more\n")
    assert search.holds()


@pytest.mark.parametrize("added", ["more.txt", "sessions/two/a.jsonl", "sessions/one/b.jsonl"])
def test_a_new_file_is_suspected_wherever_it_may_be(logs: Path, added: str) -> None:
    search = searched(logs)
    (logs / added).parent.mkdir(exist_ok=True)
    (logs / added).write_text("new\n")
    assert not search.holds()


def test_a_folder_that_is_not_there_yet_is_missed_when_it_comes(logs: Path, tmp_path: Path) -> None:
    search = searched(tmp_path / "later")
    assert search.holds()
    (tmp_path / "later").mkdir()
    assert not search.holds()


def test_what_has_changed_just_now_may_have_changed_again(logs: Path) -> None:
    (logs / "more.txt").write_text("new\n")
    assert not searched(logs).holds()


def test_too_many_folders_are_searched_again_rather_than_looked_at(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MOST_FOLDERS", 2)
    assert not searched(logs).holds()
