"""How much a filter asks for, with its groups."""

from oddish.browsing.filters import Filter
from oddish.browsing.flaws import InvalidFilter
from oddish.browsing.limits import MOST_COMPARISONS, MOST_LOOKS, MOST_NAMES, MOST_NEEDLES


def check_extent(wanted: Filter) -> None:
    """Raises ``InvalidFilter`` for too much."""
    parts = (wanted, *wanted.or_groups)
    for count, most, what in (
        (sum(map(_needles, parts)), MOST_NEEDLES, "words to search for"),
        (sum(map(_names, parts)), MOST_NAMES, "names"),
        (sum(part.looks_at_trials for part in parts), MOST_LOOKS, "groups about trials"),
        (sum(map(_comparisons, parts)), MOST_COMPARISONS, "comparisons"),
    ):
        if count > most:
            raise InvalidFilter(
                f"The filters have {count} {what} together, at most {most} are looked at.", fix="Ask for less at once."
            )


def _needles(part: Filter) -> int:
    return 0 if part.query is None else sum(1 for _ in part.query.needles)


def _names(part: Filter) -> int:
    return sum(map(len, part.names))


def _comparisons(part: Filter) -> int:
    return (part.compare_by is not None) + (part.top_by is not None)
