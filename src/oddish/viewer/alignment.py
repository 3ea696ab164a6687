"""Two sequences side by side: their longest common subsequence, at a cost that is known beforehand. Pure."""

from array import array
from collections.abc import Hashable, Iterator, Sequence

MOST = 600
"""Items of each sequence that are compared with each of the other, after what they begin and end with in common."""

type Pair = tuple[int | None, int | None]
"""Positions in both; None where one of them has nothing that matches."""


def align(left: Sequence[Hashable], right: Sequence[Hashable], most: int = MOST) -> list[Pair]:
    """Every position of both in its order. Beyond ``most``, nothing in the middle is matched."""
    begin = _common(left, right)
    end = _common(left[begin:][::-1], right[begin:][::-1])
    middle = _matches(left[begin : len(left) - end][:most], right[begin : len(right) - end][:most])
    pairs: list[tuple[int, int]] = [(position, position) for position in range(begin)]
    pairs += [(begin + one, begin + other) for one, other in middle]
    pairs += [(len(left) - place, len(right) - place) for place in range(end, 0, -1)]
    return list(_with_gaps(pairs, len(left), len(right)))


def _common(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """How many items both begin with."""
    shorter = min(len(left), len(right))
    return next((place for place in range(shorter) if left[place] != right[place]), shorter)


def _matches(left: Sequence[Hashable], right: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    width = len(right) + 1
    lengths = [array("H", bytes(2 * width))]
    for item in reversed(left):
        below, row, here = lengths[-1], array("H", bytes(2 * width)), 0
        for place in range(len(right) - 1, -1, -1):
            here = below[place + 1] + 1 if item == right[place] else max(here, below[place])
            row[place] = here
        lengths.append(row)
    lengths.reverse()
    one = other = 0
    while one < len(left) and other < len(right):
        if left[one] == right[other]:
            yield one, other
            one, other = one + 1, other + 1
        elif lengths[one + 1][other] >= lengths[one][other + 1]:
            one += 1
        else:
            other += 1


def _with_gaps(pairs: Sequence[tuple[int, int]], left: int, right: int) -> Iterator[Pair]:
    one = other = 0
    for matched in (*pairs, (left, right)):
        yield from ((place, None) for place in range(one, matched[0]))
        yield from ((None, place) for place in range(other, matched[1]))
        one, other = matched[0] + 1, matched[1] + 1
        if matched != (left, right):
            yield matched
