"""Of many points those stay that one would see."""

import math
from array import array
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.web.charts.thinning import MOST_STRETCHES, Columns, Course

NUMBERS = st.integers(-50, 50).map(float)
GAPPY = NUMBERS | st.sampled_from([math.nan, math.inf])
POINTS = st.lists(st.tuples(st.integers(0, 60).map(float) | st.just(math.nan), GAPPY), max_size=80)
COLUMNS = Columns(0.0, 60.0, 7)


def drawn(points: list[tuple[float, float]], columns: Columns = COLUMNS) -> list[list[tuple[float, float]]]:
    xs, ys = array("d", [x for x, _ in points]), array("d", [y for _, y in points])
    return Course.of(xs).lines(ys, columns)


def column(x: float) -> int:
    return math.floor(x / (60 / 7))


@given(POINTS)
@settings(max_examples=150)
def test_each_column_keeps_its_lowest_and_its_highest(points: list[tuple[float, float]]) -> None:
    there = [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
    kept = [point for line in drawn(points) for point in line]
    assert set(kept) <= set(there)
    for number in {column(x) for x, _ in there}:
        before = [y for x, y in there if column(x) == number]
        after = [y for x, y in kept if column(x) == number]
        assert (min(before), max(before)) == (min(after), max(after))


@given(POINTS)
@settings(max_examples=150)
def test_a_line_never_goes_back_and_keeps_the_order_of_its_points(points: list[tuple[float, float]]) -> None:
    for line in drawn([(x, float(place)) for place, (x, _) in enumerate(points)]):
        assert all(a <= b for (a, _), (b, _) in pairwise(line))
        assert all(before < after for (a, before), (b, after) in pairwise(line) if a == b)


@given(st.lists(st.integers(0, 100_000), unique=True, min_size=1, max_size=300).map(sorted), st.randoms())
@settings(max_examples=30)
def test_the_first_and_the_last_point_stay_and_few_others(xs: list[int], random: object) -> None:
    points = [(float(x), float((x * 7919) % 101)) for x in xs]
    (line,) = drawn(points, Columns(0.0, 100_000.0, 10))
    assert (line[0], line[-1]) == (points[0], points[-1])
    assert len(line) <= 44


def test_few_points_all_stay_and_a_gap_ends_a_line() -> None:
    points = [(0.0, 1.0), (10.0, math.nan), (20.0, 3.0), (30.0, 4.0), (40.0, math.inf), (50.0, 6.0)]
    assert drawn(points) == [[(0.0, 1.0)], [(20.0, 3.0), (30.0, 4.0)], [(50.0, 6.0)]]


def test_a_gap_that_is_narrower_than_a_column_ends_no_line() -> None:
    points = [(x / 10, math.nan if x % 2 else 1.0) for x in range(600)]
    assert len(drawn(points)) == 1


def test_columns_without_a_point_end_no_line() -> None:
    assert len(drawn([(0.0, 1.0), (60.0, 2.0)])) == 1


def test_a_series_that_goes_back_is_drawn_again_from_there() -> None:
    first, second = drawn([(0.0, 1.0), (30.0, 2.0), (20.0, 5.0), (40.0, 6.0)])
    assert first[-1] == (30.0, 2.0)
    assert second[0] == (20.0, 5.0)


def test_a_series_that_goes_back_often_is_drawn_in_the_order_of_its_x() -> None:
    points = [(float(x), float(x)) for x in range(MOST_STRETCHES * 2 + 4, 0, -1)]
    (line,) = drawn(points)
    assert [x for x, _ in line] == sorted(x for x, _ in line)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(0, 9).map(float) | st.just(math.nan)), min_size=1, max_size=80))
@settings(max_examples=60)
def test_a_band_holds_every_value_with_a_spread(points: list[tuple[float, float, float]]) -> None:
    points.sort()
    xs = array("d", [x for x, _, _ in points])
    ys, spreads = array("d", [y for _, y, _ in points]), array("d", [spread for _, _, spread in points])
    columns = Columns(-50.0, 50.0, 9)
    edges = [edge for band in Course.of(xs).bands(ys, spreads, columns) for edge in band]
    for x, y, spread in points:
        if not math.isnan(y - spread):
            low, high = y - spread, y + spread
            number = math.floor((x + 50) / (100 / 9))
            here = [edge for edge in edges if math.floor((edge[0] + 50) / (100 / 9)) == number]
            assert min(edge[1] for edge in here) <= low
            assert max(edge[2] for edge in here) >= high
