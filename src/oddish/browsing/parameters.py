"""A list of tasks as it is asked for: parameters of a request, which are also the state of a page."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from oddish.browsing.extent import check_extent
from oddish.browsing.filters import Filter
from oddish.browsing.flaws import Flaw, InvalidFilter
from oddish.browsing.limits import LONGEST_TEXT, MOST_GROUPS
from oddish.browsing.table import PARAMETERS
from oddish.browsing.values import FLAG, Kind, choice_of, whole_of
from oddish.tasks.characters import flaw

LIMIT, MOST, FURTHEST = 25, 100, 1_000_000
SORTED_BY = ("avg_score", "total_tokens", "runtime_total", "runtime_avg")
SORTS = ("cost_desc", *(f"{name}_{way}" for name in SORTED_BY for way in ("asc", "desc")))
GROUPS = "or_groups"
LONGEST_SHOWN = 60
NEEDS_ANALYSIS = ("verdict_statuses", "analysis_classifications")
"""Filters by what the analysis of trials has found, which is not enabled."""


@dataclass(frozen=True, slots=True)
class Browse:
    """A page of the tasks that pass a filter, in an order; or how many they are."""

    filter: Filter = field(default_factory=Filter)
    limit: int = LIMIT
    offset: int = 0
    sort: str | None = None
    """One of ``SORTS``; None is the newest first."""
    count_only: bool = False


def _up_to(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = whole_of(text)
        if not least <= number <= most:
            raise Flaw(f"is {number}", fix=f"It is from {least} to {most}.")
        return number

    return parse


PAGE: Mapping[str, Kind] = {
    "limit": Kind(_up_to(1, MOST), str, {"type": "integer", "minimum": 1, "maximum": MOST, "default": LIMIT}),
    "offset": Kind(_up_to(0, FURTHEST), str, {"type": "integer", "minimum": 0, "maximum": FURTHEST, "default": 0}),
    "sort": choice_of(*SORTS),
    "count_only": FLAG,
}


def parse(pairs: Iterable[tuple[str, str]], *, label: Callable[[str], str] = str) -> Browse:
    """What parameters ask for, given as names and texts; those without text ask for nothing.

    ``label`` is what a parameter is called in a refusal. Raises ``InvalidFilter`` for a name that is not known, a value
    that cannot be read, values that contradict each other, and more than ``limits`` allow.
    """
    texts: dict[str, list[str]] = {}
    for name, text in pairs:
        texts.setdefault(name, [])
        if text := text.strip():
            texts[name].append(text)
    page = {name: _value(name, PAGE[name], texts.pop(name, []), label) for name in PAGE}
    groups = texts.pop(GROUPS, [])
    wanted = replace(_filter(texts, label), or_groups=_groups(groups, label))
    check_extent(wanted)
    return Browse(wanted, **{name: value for name, value in page.items() if value is not None})


def parameters(browse: Browse) -> dict[str, str]:
    """The parameters that ``parse`` reads as ``browse``, without those that say nothing new."""
    found = _members(browse.filter)
    if browse.filter.or_groups:
        found[GROUPS] = json.dumps([_members(group) for group in browse.filter.or_groups], ensure_ascii=False)
    for name, kind in PAGE.items():
        value = getattr(browse, name)
        if value != getattr(Browse(), name):
            found[name] = kind.format(value)
    return found


def _members(wanted: Filter) -> dict[str, str]:
    values = {name: getattr(wanted, name) for name in PARAMETERS}
    return {name: PARAMETERS[name].kind.format(value) for name, value in values.items() if value not in (None, ())}


def _filter(texts: Mapping[str, list[str]], label: Callable[[str], str]) -> Filter:
    for name in texts:
        if name in NEEDS_ANALYSIS:
            raise InvalidFilter(
                f"{label(name)} is about the analysis of trials, which is not enabled here.", fix="Leave it out."
            )
        if name not in PARAMETERS:
            similar = get_close_matches(name, (*PARAMETERS, GROUPS, *PAGE))
            fix = f"There is {' and '.join(similar)}." if similar else "GET /openapi.json lists those there are."
            raise InvalidFilter(f"There is no filter {name[:LONGEST_SHOWN]!r}.", fix=fix)
    values = {name: _value(name, PARAMETERS[name].kind, given, label) for name, given in texts.items()}
    wanted = Filter(**{name: value for name, value in values.items() if value is not None})
    try:
        wanted.check()
    except Flaw as found:
        raise InvalidFilter(f"{_labelled(found.reason, label)}.", fix=_labelled(found.fix or "", label)) from None
    return wanted


def _labelled(said: str, label: Callable[[str], str]) -> str:
    """What is said of members, in the words of whoever asked."""
    return re.sub(r"\w+", lambda word: label(word[0]) if word[0] in PARAMETERS else word[0], said)


def _value(name: str, kind: Kind, given: list[str], label: Callable[[str], str]) -> Any:
    """None when nothing was given."""
    if not given:
        return None
    try:
        if len(given) > 1 and not kind.several:
            raise Flaw(f"is given {len(given)} times", fix="Give it once.")
        text = ",".join(given)
        if len(text) > LONGEST_TEXT:
            raise Flaw(f"has {len(text)} characters, at most {LONGEST_TEXT} are read")
        if reason := flaw(text):
            raise Flaw(reason)
        return kind.parse(text)
    except Flaw as found:
        raise InvalidFilter(f"{label(name)} {found.reason}.", fix=found.fix) from None


def _groups(given: list[str], label: Callable[[str], str]) -> tuple[Filter, ...]:
    document = _value(GROUPS, Kind(_group_list, str, {}), given, label)
    return tuple(_filter(texts, label) for texts in document or ())


def _group_list(text: str) -> list[dict[str, list[str]]]:
    fix = 'It is a JSON list of objects whose members are filters, such as [{"agents": "nop"}, {"min_steps": 9}].'
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise Flaw("is no JSON", fix=fix) from None
    if not (isinstance(document, list) and all(isinstance(group, dict) and group for group in document)):
        raise Flaw("is no list of objects with members", fix=fix)
    if len(document) > MOST_GROUPS:
        raise Flaw(f"has {len(document)} groups, at most {MOST_GROUPS} are looked at")
    return [{name: [_text(name, value, fix)] for name, value in group.items()} for group in document]


def _text(name: str, value: object, fix: str) -> str:
    """A member of a group as it would be written in a parameter."""
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return ",".join(value)
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise Flaw(f"has a group whose {name!r} is none of text, a number, true, false and a list of texts", fix=fix)


def schemas() -> list[dict[str, Any]]:
    """The parameters as OpenAPI describes them."""
    described = {name: (one.kind.schema, one.help) for name, one in PARAMETERS.items()}
    group = {"type": "string", "pattern": r'^\[\{"min_steps": [1-9]\}\]$'}
    described[GROUPS] = (group, "JSON list of groups of filters; of one of them the task has to be all, too.")
    described |= {
        "limit": (PAGE["limit"].schema, "How many tasks."),
        "offset": (PAGE["offset"].schema, "How many are left out before them."),
        "sort": (PAGE["sort"].schema, "In which order; the newest first by default."),
        "count_only": (PAGE["count_only"].schema, "Only how many they are."),
    }
    return [
        {"name": name, "in": "query", "required": False, "schema": dict(schema), "description": said}
        for name, (schema, said) in described.items()
    ]
