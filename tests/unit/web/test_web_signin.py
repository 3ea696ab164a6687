"""Links that work once."""

import pytest

from oddish.errors import Unauthenticated
from oddish.web.signin import MOST_LINKS, Door


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_link_works_once() -> None:
    door = Door()
    code = door.code()
    assert door.redeem(code)
    with pytest.raises(Unauthenticated, match="used before"):
        door.redeem(code)


def test_a_link_works_for_as_long_as_it_was_made_for() -> None:
    clock = Clock()
    door = Door(clock=clock)
    short, long = door.code(seconds=60), door.code()
    clock.now = 60
    with pytest.raises(Unauthenticated):
        door.redeem(short)
    assert door.redeem(long)


def test_who_asks_for_ever_more_links_keeps_the_latest() -> None:
    door = Door()
    first = door.code()
    latest = [door.code() for _ in range(MOST_LINKS)]
    with pytest.raises(Unauthenticated):
        door.redeem(first)
    assert door.redeem(latest[0]) == door.redeem(latest[-1])
