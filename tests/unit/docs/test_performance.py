"""docs/performance.md has the rows and targets of the bench; the bench judges them as they are written."""

import re
from collections.abc import Mapping, Sequence

import reference
from bench.__main__ import BESIDE, MEASURES
from bench.figures import Figures, percentile, verdict
from bench.rows import BY_NAME, ROWS
from bench.statements import executed
from bench.table import HEADINGS, table

PAGE = (reference.ROOT / "docs" / "performance.md").read_text()


def test_the_page_has_the_rows_and_targets_of_the_bench() -> None:
    assert {line[0]: line[HEADINGS.index("target")] for line in lines(HEADINGS)} == {
        row.name: row.target for row in ROWS
    }


def test_the_page_says_what_each_row_is() -> None:
    assert lines(("row", "ours", "peer")) == [[row.name, row.what, row.peer] for row in ROWS]


def test_every_row_is_measured_or_says_where() -> None:
    assert {row.name for row in ROWS if row.elsewhere is None} == MEASURES.keys()
    assert not BESIDE.keys() & BY_NAME.keys()


def test_a_percentile_is_one_of_the_samples() -> None:
    samples = [float(number) for number in range(100, 0, -1)]
    assert [percentile(samples, share) for share in (0.5, 0.95, 0.99, 1.0)] == [50, 95, 99, 100]
    assert percentile([3.0], 0.5) == percentile([3.0], 0.99) == 3.0


def test_a_row_is_judged_by_its_statistic() -> None:
    samples = [100.0] * 94 + [200.0] * 6
    assert met("start", Figures(ours=samples)) is False
    assert met("start", Figures(ours=[100.0] * 95 + [200.0] * 5)) is True
    assert met("help", Figures(ours=samples)) is True
    assert met("help", Figures(ours=[250.0])) is False


def test_a_ratio_is_judged_beside_its_peer() -> None:
    assert met("docker", Figures(ours=[3.5], peer=[10.0])) is True
    assert met("docker", Figures(ours=[3.6], peer=[10.0])) is False
    assert met("docker", Figures(ours=[1.0], missing="no peer")) is None


def test_further_bounds_count() -> None:
    assert met("routes", Figures(ours=[1.0], further={"statements": 3})) is True
    assert met("routes", Figures(ours=[1.0], further={"statements": 4})) is False


def test_what_is_missing_is_said_beside_the_table() -> None:
    measured: Mapping[str, Figures] = {"docker": Figures(missing="no engine"), "help": Figures([100.0], [1000.0])}
    printed = table(measured)
    assert "docker: no engine" in printed
    assert re.search(r"\| docker +\| - +\| - +\| - +\| <= 0.35x +\| - +\|", printed)
    assert re.search(r"\| help +\| 100 ms +\| 1000 ms +\| 0.10x +\| < 250 ms +\| yes +\|", printed)


def test_statements_are_counted_by_process_whatever_lines_they_have() -> None:
    log = """\
2026-11-29 21:00:00.000 UTC [7] LOG:  duration: 0.100 ms  statement: BEGIN
2026-11-29 21:00:00.001 UTC [7] LOG:  duration: 0.200 ms  execute <unnamed>: SELECT
  1
2026-11-29 21:00:00.002 UTC [8] LOG:  duration: 0.300 ms  statement: SELECT 2
2026-11-29 21:00:00.003 UTC [7] LOG:  duration: 0.400 ms  execute _pg3_1: UPDATE t SET x = 1
2026-11-29 21:00:00.004 UTC [7] LOG:  duration: 0.010 ms  bind _pg3_1: UPDATE t SET x = 1
2026-11-29 21:00:00.005 UTC [7] DETAIL:  Parameters: $1 = '1'
2026-11-29 21:00:00.006 UTC [7] LOG:  duration: 0.100 ms  statement: COMMIT
"""
    assert executed(log, {7}) == ["SELECT 1", "UPDATE t SET x = 1"]


def met(name: str, figures: Figures) -> bool | None:
    return verdict(BY_NAME[name], figures).met


def lines(headings: Sequence[str]) -> list[list[str]]:
    """The lines of the table with these headings."""
    tables = re.findall(r"(?:^\|.*\|\n)+", PAGE, re.MULTILINE)
    found = [[cells(line) for line in text.splitlines()] for text in tables]
    [(_, _, *body)] = [table for table in found if table[0] == list(headings)]
    return body


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]
