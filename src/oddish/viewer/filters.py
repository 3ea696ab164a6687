"""What of a dataset is looked at, and how: the query string of its page. Pure.

A value that cannot be read is refused. A parameter of another name may not be meant for the page: it is left out, with
a word about it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Literal, cast
from urllib.parse import urlencode

from oddish.errors import InvalidInput
from oddish.viewer.columns import PIVOTS, Pivot
from oddish.viewer.fields import shown
from oddish.viewer.findings import Finding, Notes
from oddish.viewer.parameters import one_of, whole
from oddish.viewer.sorting import SORTS
from oddish.viewer.tables import Table

type Passed = Literal["any", "all", "none"]
type Infra = Literal["any", "all"]
type Flipped = Literal["any", "first", "second"]
type Show = Literal["question", "answer", "nothing"]

PASSED: tuple[Passed, ...] = ("any", "all", "none")
INFRA: tuple[Infra, ...] = ("any", "all")
FLIPPED: tuple[Flipped, ...] = ("any", "first", "second")
SHOWS: tuple[Show, ...] = ("question", "answer", "nothing")
SIZES = (25, 50, 100, 200)
UNTOLD = "none"
"""The difficulty and the reward mode of tasks that tell none."""
LONGEST_SEARCH = 1000
YES = "yes"


@dataclass(frozen=True, slots=True)
class View:
    """Members are named as the parameters are. What is None, False or empty asks for nothing."""

    pivot: Pivot = "both"
    q: str = ""
    """Words that are all in the id, the question or the answer, in any case."""
    difficulty: tuple[str, ...] = ()
    """One of these, like ``mode``."""
    mode: tuple[str, ...] = ()
    """Reward mode."""
    passed: Passed | None = None
    """Any, all or none of the measured cells passed, of which there are some."""
    disagreement: bool = False
    """A cell passed and another one did not."""
    infra: Infra | None = None
    """``any``: some attempt has no reward. ``all``: it was attempted, and none has."""
    first: str | None = None
    """The column that is compared with ``second``."""
    second: str | None = None
    flipped: Flipped | None = None
    """Of the two columns only the first or the second one passed, or either."""
    sort: str = "index"
    """One of ``SORTS``; with a minus before it, the highest first."""
    show: Show = "question"
    """``answer``: with the question."""
    page: int = 1
    size: int = 50
    """Tasks on a page."""

    @property
    def sorted_by(self) -> str:
        return self.sort.removeprefix("-")

    @property
    def is_descending(self) -> bool:
        return self.sort.startswith("-")

    @property
    def filters(self) -> dict[str, Any]:
        """Those that ask for something."""
        return {name: value for name in FILTERS if (value := getattr(self, name))}

    @property
    def chooses_by_outcome(self) -> bool:
        """Rates of tasks that were chosen by what came of them say little about anybody."""
        return bool(self.passed or self.disagreement or self.infra or self.flipped)

    def pairs(self, **changes: Any) -> list[tuple[str, str]]:
        """The parameters that are read as this view with these changes. It is of the first page unless that is said."""
        changed = replace(self, **{"page": 1} | changes)
        return [pair for member in fields(View) for pair in _pairs(changed, member.name, member.default)]

    def query(self, **changes: Any) -> str:
        """``pairs`` as a query string."""
        return urlencode(self.pairs(**changes))


FILTERS = ("q", "difficulty", "mode", "passed", "disagreement", "infra", "flipped")
NAMES = tuple(member.name for member in fields(View))


def parse(pairs: Iterable[tuple[str, str]], table: Table) -> tuple[View, tuple[Finding, ...]]:
    """The view that parameters of a request ask for, and what of them was left out.

    Raises ``InvalidInput`` for a value that is none of those there are.
    """
    return _Parameters(pairs).view(table)


class _Parameters:
    """Names and texts. A text that is empty says nothing: forms send such."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._notes = Notes()
        self._texts: dict[str, list[str]] = {}
        for name, text in pairs:
            if text and not text.isspace():
                self._texts.setdefault(name, []).append(text)

    def view(self, table: Table) -> tuple[View, tuple[Finding, ...]]:
        self._note_unknown()
        pivot = cast("Pivot | None", self._choice("pivot", PIVOTS)) or "both"
        keys = [column.key for column in table.columns(pivot)]
        first, second = self._choice("first", keys), self._choice("second", keys)
        if first is not None and first == second:
            raise InvalidInput(f"first and second are both {shown(first)}.", fix="Choose two columns.")
        view = View(
            pivot=pivot,
            q=self._search(),
            difficulty=self._choices("difficulty", table.difficulties),
            mode=self._choices("mode", table.reward_modes),
            passed=cast("Passed | None", self._choice("passed", PASSED)),
            disagreement=self._choice("disagreement", (YES,)) is not None,
            infra=cast("Infra | None", self._choice("infra", INFRA)),
            first=first,
            second=second,
            flipped=cast("Flipped | None", self._choice("flipped", FLIPPED)),
            sort=self._choice("sort", [way + name for name in SORTS for way in ("", "-")]) or "index",
            show=cast("Show | None", self._choice("show", SHOWS)) or "question",
            page=whole("page", self._one("page"), 1),
            size=whole("size", self._one("size"), 50, most=SIZES[-1]),
        )
        return view, self._notes.findings

    def _note_unknown(self) -> None:
        for name in self._texts:
            if name not in NAMES:
                similar = get_close_matches(name[:60], NAMES)
                self._notes.warning(
                    shown(name), "is no parameter of this page.", f"There is {similar[0]}." if similar else None
                )

    def _one(self, name: str) -> str | None:
        texts = self._texts.get(name, ())
        if len(texts) > 1:
            raise InvalidInput(f"{name} is given {len(texts)} times.", fix="Give it once.")
        return texts[0] if texts else None

    def _choice(self, name: str, there: Iterable[str]) -> str | None:
        text = self._one(name)
        return None if text is None else one_of(name, text, there)

    def _choices(self, name: str, there: Iterable[str | None]) -> tuple[str, ...]:
        known = list(dict.fromkeys(value or UNTOLD for value in there))
        return tuple(one_of(name, text, known) for text in dict.fromkeys(self._texts.get(name, ())))

    def _search(self) -> str:
        text = (self._one("q") or "").strip()
        if len(text) > LONGEST_SEARCH:
            self._notes.warning("q", f"has {len(text)} characters; the first {LONGEST_SEARCH} are looked for.")
        return text[:LONGEST_SEARCH]


def _pairs(view: View, name: str, default: object) -> list[tuple[str, str]]:
    value = getattr(view, name)
    if value == default:
        return []
    if isinstance(value, tuple):
        return [(name, text) for text in value]
    return [(name, YES if value is True else str(value))]
