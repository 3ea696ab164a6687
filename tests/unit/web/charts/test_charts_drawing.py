"""Charts are well-formed, in their place, said in words, and escape what they are given."""

import json
import math
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

import pytest
from markupsafe import Markup

from oddish.web.charts.figures import BOTTOM, LEFT, RIGHT, TABLE_ROWS, TOP
from oddish.web.charts.lines import MARKED, Series, line_chart
from oddish.web.charts.ranks import Row, bars, dots
from oddish.web.charts.scatter import Spot, frontier, scatter
from oddish.web.charts.thinning import Course

HOSTILE = """<script>alert("1")</script>'&\x1b]]>"""
NAN = math.nan


def parsed(chart: Markup) -> Xml.Element:
    assert " style=" not in chart
    assert "<script" not in chart
    return Xml.fromstring(str(chart))  # noqa: S314 - our own


def lines(*series: Series, **names: str) -> Xml.Element:
    return parsed(line_chart("Reward", series, x_label="step", **names))


def of_class(root: Xml.Element, name: str) -> list[Xml.Element]:
    return [found for found in root.iter() if name in found.get("class", "").split()]


def text(root: Xml.Element | None) -> str:
    assert root is not None
    return "".join(root.itertext())


def points(d: str) -> list[tuple[float, float]]:
    return [
        (float(x), float(y))
        for part in d.replace("Z", "").replace("M", "L").split("L")
        if part
        for x, y in [part.split()]
    ]


def test_a_line_runs_from_the_lower_left_to_the_upper_right() -> None:
    chart = lines(Series("run", Course.of([0.0, 50.0, 100.0]), [0.0, 0.5, 1.0]))
    (line,) = of_class(chart, "chart-line")
    (first, middle, last) = points(line.get("d", ""))
    assert first == (LEFT, BOTTOM)
    assert middle[0] == pytest.approx((LEFT + RIGHT) / 2)
    assert last[0] == RIGHT
    assert TOP <= last[1] < middle[1] < first[1]
    assert len(of_class(chart, "chart-marker")) == 3


def test_a_gap_is_no_line_and_a_lone_point_is_a_dot() -> None:
    xs = [float(x) for x in range(100)]
    ys = [NAN if x in (48.0, 52.0) or (48 < x < 52 and x != 50) else x for x in xs]
    chart = lines(Series("run", Course.of(xs), ys))
    (line,) = of_class(chart, "chart-line")
    assert line.get("d", "").count("M") == 2
    assert len(of_class(chart, "chart-marker")) == 1


def test_many_points_have_no_markers_and_few_places() -> None:
    xs = [float(x) for x in range(20_000)]
    chart = lines(Series("run", Course.of(xs), [math.sin(x) for x in xs]))
    assert not of_class(chart, "chart-marker")
    (line,) = of_class(chart, "chart-line")
    assert MARKED < len(points(line.get("d", ""))) < 2_200


def test_a_band_lies_around_its_line() -> None:
    chart = lines(Series("run", Course.of([0.0, 1.0]), [0.5, 0.5], spread=[0.125, 0.125]), band_label="one deviation")
    line = points(of_class(chart, "chart-line")[0].get("d", ""))
    drawn = max(of_class(chart, "chart-band"), key=lambda found: len(found.get("d", "")))
    assert min(y for _, y in points(drawn.get("d", ""))) < line[0][1] < max(y for _, y in points(drawn.get("d", "")))
    assert "one deviation" in text(of_class(chart, "chart-legend")[0])


def test_several_series_differ_by_class_marker_and_name() -> None:
    chart = lines(
        Series("first", Course.of([0.0, 1.0]), [0.0, 1.0]), Series("second", Course.of([0.0, 1.0]), [1.0, 0.0])
    )
    shapes = [
        of_class(group, "chart-marker")[0].get("d")
        for group in chart.iter("g")
        if "chart-series" in group.get("class", "")
    ]
    assert len(set(shapes)) == 2
    assert {group.get("class") for group in of_class(chart, "chart-series") if group.tag == "g"} == {
        "chart-series chart-series-1",
        "chart-series chart-series-2",
    }
    assert text(of_class(chart, "chart-legend")[0]) == "firstsecond"


def test_marks_next_to_each_other_are_one_piece() -> None:
    xs = [float(x) for x in range(2_000)]
    chart = lines(Series("run", Course.of(xs), xs, marks=[*xs[:500], NAN, 1_500.0]), marks_label="flat")
    drawn = next(found for group in chart.iter("g") for found in group if found.get("class") == "chart-mark")
    assert drawn.get("d", "").count("M") == 2
    assert "flat" in text(of_class(chart, "chart-legend")[0])


def test_a_chart_is_said_in_words() -> None:
    chart = lines(Series("run", Course.of([1.0, 2.0, 3.0]), [0.5, NAN, 0.25]))
    drawing = chart.find("svg")
    assert drawing is not None
    assert (drawing.get("role"), text(drawing.find("title"))) == ("img", "Reward")
    assert text(drawing.find("desc")) == "Reward by step. run: from 1 to 3, lowest 0.25, highest 0.5, last 0.25."


def test_what_a_script_reads_is_what_is_drawn() -> None:
    chart = lines(Series("run", Course.of([1.0, 2.0, 3.0]), [0.5, NAN, 1 / 3]))
    drawing = chart.find("svg")
    assert drawing is not None
    assert json.loads(drawing.get("data-x", "")) == [1, 3, LEFT, RIGHT]
    (group,) = [found for found in of_class(chart, "chart-series") if found.tag == "g"]
    assert json.loads(group.get("data-points", "")) == [[1, 0.5], [3, 0.333333]]


def test_the_data_lies_beside_a_chart_and_long_data_is_cut() -> None:
    xs = [float(x) for x in range(1_000)]
    chart = parsed(
        line_chart(
            "Loss",
            [Series("a", Course.of(xs), xs), Series("b", Course.of(xs[:990]), xs[:990])],
            x_label="step",
            links=[("CSV", "metrics.csv?a=1&b=2")],
        )
    )
    (details,) = of_class(chart, "chart-data")
    rows = [[text(cell) for cell in row] for row in details.iter("tr")]
    assert rows[0] == ["step", "a", "b"]
    assert len(rows) == TABLE_ROWS + 1
    assert rows[-1] == ["999", "999", "–"]
    assert rows[90] == ["989", "989", "989"]
    assert "100 of 1,000 rows" in text(details.find("summary"))
    assert [link.get("href") for link in details.iter("a")] == ["metrics.csv?a=1&b=2"]


@pytest.mark.parametrize(
    "series", [[], [Series("run", Course.of([]), [])], [Series("run", Course.of([NAN, 1.0]), [1.0, NAN])]]
)
def test_a_chart_without_values_says_so(series: Sequence[Series]) -> None:
    chart = lines(*series)
    assert text(of_class(chart, "chart-empty")[0]) == "No values."
    assert chart.find("svg") is None


@pytest.mark.parametrize("value", [0.0, 1e308, -1e308, 5e-324, 1e300])
def test_odd_values_break_no_chart(value: float) -> None:
    chart = lines(Series("run", Course.of([0.0, value, 1e-320]), [value, 1.0, -value]))
    assert "nan" not in Xml.tostring(chart, encoding="unicode").lower()
    assert "inf" not in Xml.tostring(chart, encoding="unicode").lower()


def test_the_same_data_gives_the_same_text() -> None:
    series = Series("run", Course.of([0.0, 1.0, 2.0]), [0.1, 0.2, 0.3])
    assert line_chart("R", [series], x_label="step") == line_chart("R", [series], x_label="step")


def test_texts_are_escaped() -> None:
    label = HOSTILE.replace("\x1b", "")
    for chart in (
        line_chart(
            label, [Series(label, Course.of([0.0]), [1.0])], x_label=label, y_label=label, links=[(label, label)]
        ),
        dots(label, [Row(label, 0.5, (0.1, 0.9), label)], value_label=label, interval_label=label),
        bars(label, [Row(label, 0.5)], value_label=label),
        scatter(label, [Spot(label, 1.0, 1.0)], x_label=label, y_label=label),
    ):
        assert label in "".join(parsed(chart).itertext())


def test_a_whisker_spans_the_interval_and_the_dot_lies_in_it() -> None:
    chart = parsed(
        dots(
            "pass@1",
            [Row("model a", 0.5, (0.25, 0.75), "of 3 of 8"), Row("model b", None, note="not measured")],
            value_label="pass@1",
            interval_label="95 %",
            within=(0.0, 1.0),
        )
    )
    (whisker,) = of_class(chart, "chart-whisker")
    first, rest = whisker.get("d", "")[1:].split("H")
    begin, end = float(first.split()[0]), float(rest.split("M")[0])
    (dot,) = of_class(chart, "chart-marker")
    at = float(dot.get("transform", "").removeprefix("translate(").split()[0])
    assert (begin, end, at) == (8 + 0.25 * 544, 8 + 0.75 * 544, 8 + 0.5 * 544)
    assert [text(value) for value in of_class(chart, "chart-value")] == ["0.5 of 3 of 8", "– not measured"]
    (details,) = of_class(chart, "chart-data")
    assert [[text(cell) for cell in row] for row in details.iter("tr")] == [
        ["", "pass@1", "95 %, from", "to", "note"],
        ["model a", "0.5", "0.25", "0.75", "of 3 of 8"],
        ["model b", "–", "–", "–", "not measured"],
    ]


def test_bars_begin_at_zero_and_are_as_long_as_their_values() -> None:
    chart = parsed(bars("Turns", [Row("a", 10.0), Row("b", 5.0), Row("c", -10.0)], value_label="turns"))
    found = [(float(bar.get("x", "")), float(bar.get("width", ""))) for bar in of_class(chart, "chart-bar")]
    assert found == [(280, 272), (280, 136), (8, 272)]


def test_the_frontier_is_what_nothing_beats() -> None:
    spots = [Spot("dear", 9.0, 0.9), Spot("beaten", 5.0, 0.4), Spot("cheap", 1.0, 0.5), Spot("worse", 1.0, 0.3)]
    assert [spot.label for spot in frontier(spots)] == ["cheap", "dear"]
    chart = parsed(scatter("Cost", spots, x_label="cost", y_label="score"))
    assert [text(name) for name in of_class(chart, "chart-name")] == ["dear", "cheap"]
    (steps,) = of_class(chart, "chart-frontier")
    corners = points(steps.get("d", ""))
    assert len(corners) == 4
    assert corners[0][1] == corners[1][1] > corners[2][1] == corners[3][1]


def test_as_good_as_one_on_the_frontier_is_on_it() -> None:
    assert len(frontier([Spot("a", 1.0, 1.0), Spot("b", 1.0, 1.0), Spot("c", 2.0, 1.0)])) == 2
