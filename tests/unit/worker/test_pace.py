"""Attempts that somebody follows are looked at often, and hurry no other."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.worker.pace import BRISKER, FOLLOWED_SECONDS, LEAST_REST, Pace

BRISK = 1 / BRISKER


def pace(*subjects: str, now: float = 0.0) -> Pace[str]:
    """Of subjects whose trials have their names."""
    made: Pace[str] = Pace(followed=1.0, unfollowed=5.0)
    for subject in subjects:
        made.join(subject, subject, now=now)
    return made


def look(pace: Pace[str], subject: str, at: float, *, news: bool = False, behind: bool = False) -> None:
    pace.looked(subject, began=at, ended=at, news=news, behind=behind)


def turns(pace: Pace[str], until: float, *, news: bool = False) -> Sequence[tuple[float, list[str]]]:
    """When a turn is and whose, from the beginning, where turns take no time."""
    taken, now = [], 0.0
    while (now := now + pace.rest(now=now)) <= until:
        due = pace.due(now=now)
        assert due
        for subject in due:
            look(pace, subject, now, news=news)
        taken.append((now, due))
    return taken


def test_one_attempt_that_is_followed_hurries_no_other() -> None:
    both = pace("a", "b")
    both.hear("a", now=0)
    assert turns(both, 6) == [
        *((float(second), ["a"]) for second in range(1, 5)),
        (5.0, ["a", "b"]),
        (6.0, ["a"]),
    ]


def test_an_attempt_that_is_watched_closely_needs_nobody_to_follow_it() -> None:
    both = pace("a")
    both.join("b", "b", now=0, closely=True)
    assert turns(both, 5) == [*((float(second), ["b"]) for second in range(1, 5)), (5.0, ["a", "b"])]


def test_attempts_that_began_at_different_times_share_their_turns() -> None:
    both = pace("a", now=0.3)
    both.join("b", "b", now=4.1)
    assert turns(both, 10) == [(5.0, ["a", "b"]), (10.0, ["a", "b"])]


def test_news_make_the_next_turn_come_sooner_where_somebody_follows() -> None:
    both = pace("a", "b")
    both.hear("a", now=0)
    assert [now for now, due in turns(both, 3, news=True) if "a" in due] == [1, 1.5, 2, 2.5, 3]
    assert [now for now, due in turns(pace("b"), 15, news=True)] == [5, 10, 15]


def test_whoever_comes_is_shown_at_once_what_was_not_looked_at_just_now() -> None:
    one = pace("a")
    assert one.rest(now=2.2) == pytest.approx(2.8)
    assert one.hear("a", now=2.2)
    assert (one.rest(now=2.2), one.due(now=2.2)) == (0, ["a"])


def test_what_was_looked_at_just_now_waits_for_its_turn_however_many_words_there_are() -> None:
    one = pace("a")
    one.hear("a", now=2.2)
    look(one, "a", 2.2)
    for _ in range(100):
        assert not one.hear("a", now=2.3), "it is known"
    assert one.due(now=2.3) == []
    assert one.rest(now=2.3) == pytest.approx(0.7)


def test_a_word_is_good_for_a_while() -> None:
    one = pace("a")
    one.hear("a", now=0)
    assert [now for now, _ in turns(one, 40)] == [*range(1, int(FOLLOWED_SECONDS) + 1), 35, 40]


def test_a_word_of_a_trial_whose_attempt_begins_later_is_good_for_that() -> None:
    later = pace("a")
    assert not later.hear("b", now=0), "nobody is due sooner"
    later.join("b", "b", now=10)
    look(later, "a", 10)
    assert later.rest(now=10) == 1
    late: Pace[str] = pace()
    late.hear("b", now=0)
    late.join("b", "b", now=FOLLOWED_SECONDS)
    assert late.rest(now=FOLLOWED_SECONDS) == 5


def test_what_was_left_unread_does_not_wait_as_long_as_the_rest() -> None:
    one = pace("a")
    look(one, "a", 5, news=True, behind=True)
    assert one.rest(now=5) == BRISK
    look(one, "a", 5.5)
    assert one.rest(now=5.5) == 4.5
    one.hurry("a")
    assert one.rest(now=5.5) == 0.5
    assert one.due(now=7) == ["a"]


def test_who_has_left_is_not_due() -> None:
    both = pace("a", "b")
    both.leave("a")
    assert ("a" in both, "b" in both, len(both)) == (False, True, 1)
    assert both.due(now=100) == ["b"]


@given(st.floats(0, 1e7), st.floats(0, 20), st.booleans(), st.booleans())
def test_a_turn_comes_within_its_interval_and_leaves_a_rest(
    began: float, lasted: float, followed: bool, news: bool
) -> None:
    one = pace("a", now=began)
    ended = began + lasted
    if followed:
        one.hear("a", now=ended)
    one.looked("a", began=began, ended=ended, news=news, behind=False)
    interval = 5.0 if not followed else BRISK if news else 1.0
    rest = one.rest(now=ended)
    assert interval / LEAST_REST - 1e-6 <= rest <= max(interval - lasted, interval / LEAST_REST) + 1e-6
    assert one.due(now=math.nextafter(ended + rest, math.inf)) == ["a"]
