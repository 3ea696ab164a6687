"""What follows from files is worked out once for each version of them."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from oddish.viewer.derived import Derived


def test_it_is_made_once_for_the_same_sources_and_anew_for_others() -> None:
    derived: Derived[str, list[int]] = Derived(2)
    source, other = object(), object()
    first = derived.of("a", [source, None], lambda: [1])
    assert derived.of("a", [source, None], lambda: [2]) is first
    assert derived.of("a", [other, None], lambda: [3]) == [3]
    assert derived.of("a", [other], lambda: [4]) == [4]


def test_sources_that_are_equal_are_not_the_same() -> None:
    derived: Derived[str, int] = Derived(2)
    derived.of("a", [[1]], lambda: 1)
    assert derived.of("a", [[1]], lambda: 2) == 2


def test_the_one_that_was_longest_not_asked_for_goes_first() -> None:
    derived: Derived[str, int] = Derived(2)
    source = object()
    for key in ("a", "b", "a", "c"):
        derived.of(key, [source], lambda: 1)
    assert derived.of("a", [source], lambda: 2) == 1
    assert derived.of("b", [source], lambda: 2) == 2


def test_those_who_ask_at_once_share_what_one_of_them_makes() -> None:
    derived: Derived[str, int] = Derived(2)
    source, together, made = object(), Barrier(4), []

    def make() -> int:
        made.append(1)
        return 1

    def ask(_: int) -> int:
        together.wait()
        return derived.of("a", [source], make)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(4))) == {1}
    assert len(made) == 1


def test_what_could_not_be_made_is_tried_again() -> None:
    derived: Derived[str, int] = Derived(2)
    source = object()
    with pytest.raises(ZeroDivisionError):
        derived.of("a", [source], lambda: 1 // 0)
    assert derived.of("a", [source], lambda: 1) == 1
