"""What is kept of what was said lately."""

from oddish.lately import Lately


def test_what_was_said_is_known_for_its_time_from_when_it_was_said_last() -> None:
    lately: Lately[str, int] = Lately(seconds=10, most=5)
    assert lately.get("a", now=0) is None
    lately.note("a", 1, now=0)
    lately.note("a", 2, now=5)
    assert lately.get("a", now=14.9) == 2
    assert lately.get("a", now=15) is None


def test_what_is_old_or_too_much_takes_no_room() -> None:
    lately: Lately[int, int] = Lately(seconds=10, most=3)
    for number in range(5):
        lately.note(number, number, now=number)
    assert [lately.get(number, now=4) for number in range(5)] == [None, None, 2, 3, 4]
    lately.note(5, 5, now=13)
    assert len(lately) == 2
