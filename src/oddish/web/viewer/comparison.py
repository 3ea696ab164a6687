"""Two columns of a dataset beside each other, as its page shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oddish.stats import Paired
from oddish.viewer.columns import Column
from oddish.viewer.comparisons import Comparison, Contest, Verdict
from oddish.viewer.filters import View
from oddish.viewer.leaderboards import Standing, ranked
from oddish.viewer.tables import Row
from oddish.viewer.versions import Version

MOST_FLIPPED = 50
"""Tasks that are named for each of the two columns."""


@dataclass(frozen=True, slots=True)
class ContestModel:
    measure: str
    verdict: Verdict
    paired: Paired
    detectable: float | None


@dataclass(frozen=True, slots=True)
class FlippedModel:
    """Tasks of which one of the columns passed more."""

    total: int
    ids: tuple[str, ...]
    """The first ``MOST_FLIPPED`` of them."""
    address: str
    """All of them in the table."""


@dataclass(frozen=True, slots=True)
class ComparisonModel:
    first: Column
    second: Column
    k: int
    contests: tuple[ContestModel, ...]
    won: FlippedModel
    lost: FlippedModel


def compared(version: Version, view: View, standings: Mapping[str, Standing]) -> Comparison | None:
    """Of the columns that are asked for, and in their place of the two best; None where there is only one."""
    best = [standing.column.key for standing in ranked(standings.values())]
    first = view.first or next((key for key in best if key != view.second), None)
    second = view.second or next((key for key in best if key != first), None)
    if first is None or second is None:
        return None
    return version.comparison(view.pivot, standings[first].column, standings[second].column)


def comparison_model(found: Comparison, view: View) -> ComparisonModel:
    named = {"first": found.first.key, "second": found.second.key}
    return ComparisonModel(
        first=found.first,
        second=found.second,
        k=found.k,
        contests=tuple(map(_contest, found.contests)),
        won=_flipped(found.won, f"?{view.query(**named, flipped='first')}#tasks"),
        lost=_flipped(found.lost, f"?{view.query(**named, flipped='second')}#tasks"),
    )


def _contest(contest: Contest) -> ContestModel:
    return ContestModel(contest.measure, contest.verdict, contest.paired, contest.detectable)


def _flipped(rows: Sequence[Row], address: str) -> FlippedModel:
    return FlippedModel(len(rows), tuple(row.task.id for row in rows[:MOST_FLIPPED]), address)
