import itertools
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from oddish.cli import resumption as module
from oddish.cli.resumption import resumption

WORDS = {"server": "http://server.test", "tasks": ["/a", "/b"], "config": {"agent": "nop", "n_trials": 1}}


@pytest.fixture
def new_name() -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"name-{next(numbers)}"


def interrupted(words: object, new_name: Callable[[], str]) -> str:
    with suppress(KeyboardInterrupt), resumption(words, new_name) as kept:
        raise KeyboardInterrupt
    return kept.experiment


def test_the_same_words_go_on_where_they_were_interrupted(new_name: Callable[[], str]) -> None:
    first = interrupted(WORDS, new_name)
    with resumption(dict(reversed(WORDS.items())), new_name) as kept:
        assert (kept.experiment, kept.resumed, kept.kept) == (first, True, True)
        kept.forget()
        assert not kept.kept
    with resumption(WORDS, new_name) as kept:
        assert (kept.experiment, kept.resumed) == ("name-2", False)


def test_other_words_are_another_submission(new_name: Callable[[], str]) -> None:
    first = interrupted(WORDS, new_name)
    assert interrupted(WORDS | {"tasks": ["/a"]}, new_name) != first
    assert interrupted(WORDS, new_name) == first


def test_a_command_of_the_same_words_beside_it_is_a_submission_of_its_own(new_name: Callable[[], str]) -> None:
    with resumption(WORDS, new_name) as one, resumption(WORDS, new_name) as other:
        assert one.experiment != other.experiment
        assert (one.kept, other.kept) == (True, False)
        other.forget()
    assert interrupted(WORDS, new_name) == one.experiment


def test_it_is_remembered_for_a_week(oddish_home: Path, new_name: Callable[[], str]) -> None:
    first = interrupted(WORDS, new_name)
    (kept,) = (oddish_home / "submissions").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.read_text() == first
    old = time.time() - module.KEPT_SECONDS - 1
    os.utime(kept, (old, old))
    assert interrupted(WORDS, new_name) != first


def test_where_nothing_can_be_kept_nothing_is(oddish_home: Path, new_name: Callable[[], str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    oddish_home.parent.mkdir(exist_ok=True)
    if oddish_home.exists():
        oddish_home.rmdir()
    oddish_home.symlink_to(tmp_path / "file")
    with resumption(WORDS, new_name) as kept:
        assert (kept.experiment, kept.resumed, kept.kept) == ("name-1", False, False)
        kept.forget()
