"""What a file may hold: kinds of values at places, and what is wrong with those that are of another kind. Pure."""

import difflib
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from oddish.client.types import JSON
from oddish.secrecy import is_secret_name
from oddish.tasks.characters import variable_flaw
from oddish.tasks.plainyaml import Place

SHOWN = 40
"""Characters of a text that is not as it should be."""
LISTED = 30


@dataclass(frozen=True)
class Flaw:
    place: Place
    reason: str
    """Follows the place."""
    fix: str = ""


@dataclass(frozen=True)
class Kind:
    """A value without parts, or one whose parts are nobody's business here."""

    wanted: str
    fits: Callable[[JSON], bool]


@dataclass(frozen=True)
class Fixed:
    """What cannot be chosen here: only what it is anyway passes."""

    reason: str
    harmless: Collection[JSON] = ()


@dataclass(frozen=True)
class Each:
    """A list."""

    of: "Shape"
    least: int = 0
    most: int | None = None


@dataclass(frozen=True)
class Members:
    """A mapping of these keys."""

    of: Mapping[str, "Shape"]


@dataclass(frozen=True)
class Variables:
    """A mapping of names of variables to text, which is not shown."""


type Shape = Kind | Fixed | Each | Members | Variables


def text(longest: int = 255) -> Kind:
    return Kind(
        f"text of 1 to {longest} characters",
        lambda value: isinstance(value, str) and 0 < len(value.strip()) <= longest,
    )


def whole(least: int, most: int | None = None) -> Kind:
    wanted = f"a whole number from {least} to {most}" if most is not None else f"a whole number of at least {least}"
    highest = math.inf if most is None else most
    return Kind(wanted, lambda value: _is_number(value) and isinstance(value, int) and least <= value <= highest)


def one_of(*words: str) -> Kind:
    return Kind(f"one of {', '.join(words)}", lambda value: value in words)


def _is_number(value: JSON) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


POSITIVE = Kind("a number above 0", lambda value: _is_number(value) and 0 < value < math.inf)
SWITCH = Kind("true or false", lambda value: isinstance(value, bool))
MAPPING = Kind("a mapping", lambda value: isinstance(value, dict))
TEXT = text()
TEXTS = Each(TEXT)


def flaws(value: JSON, shape: Shape, elsewhere: Mapping[str, Collection[str]], place: Place = ()) -> Iterator[Flaw]:
    """All of them, in order. An empty value is none, except of a list that must not be empty.

    ``elsewhere``: of keys, the places where they would be right.
    """
    if value is None and not (isinstance(shape, Each) and shape.least):
        return
    match shape:
        case Kind():
            if not shape.fits(value):
                yield Flaw(place, f"is {described(value, place)}, not {shape.wanted}", _quotes(value, shape))
        case Fixed():
            if value not in shape.harmless:
                yield Flaw(place, "is not supported", shape.reason)
        case Each():
            yield from _flaws_of_list(value, shape, elsewhere, place)
        case Variables():
            yield from _flaws_of_variables(value, place)
        case Members():
            if not isinstance(value, dict):
                yield Flaw(place, f"is {described(value, place)}, not a mapping", _known(shape.of))
                return
            for name, member in value.items():
                if name in shape.of:
                    yield from flaws(member, shape.of[name], elsewhere, (*place, name))
                else:
                    yield Flaw((*place, name), "is not known", _hint(name, shape.of, elsewhere))


def _flaws_of_list(value: JSON, shape: Each, elsewhere: Mapping[str, Collection[str]], place: Place) -> Iterator[Flaw]:
    if not isinstance(value, list):
        yield Flaw(place, f"is {described(value, place)}, not a list")
        return
    if len(value) < shape.least or (shape.most is not None and len(value) > shape.most):
        bound = f"at least {shape.least}" if len(value) < shape.least else f"at most {shape.most}"
        yield Flaw(place, f"has {len(value)} entries, not {bound}")
    for index, member in enumerate(value):
        if member is None:
            yield Flaw((*place, index), "is empty")
        yield from flaws(member, shape.of, elsewhere, (*place, index))


def _flaws_of_variables(value: JSON, place: Place) -> Iterator[Flaw]:
    if not isinstance(value, dict):
        yield Flaw(place, f"is {described(value, place)}, not a mapping of variables")
        return
    for name, member in value.items():
        if not isinstance(member, str):
            yield Flaw((*place, name), f"is {_sort(member)}, not text", "Put it in quotes.")
        elif reason := variable_flaw(name, member):
            yield Flaw(place, f"cannot be used: {reason}")


def described(value: JSON, place: Place) -> str:
    """The value where it can be shown, else its sort."""
    if isinstance(value, str) and not any(is_secret_name(str(part)) for part in place):
        return repr(value) if len(value) <= SHOWN else f"{value[:SHOWN]!r}… ({len(value)} characters)"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else _sort(value)


def _sort(value: JSON) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping"


def spelled(place: Place) -> str:
    """As in ``agents[0].name``."""
    spelling = ""
    for part in place:
        if isinstance(part, int):
            spelling += f"[{part}]"
        else:
            name = part if part.isidentifier() and len(part) <= SHOWN else repr(part[:SHOWN])
            spelling += f".{name}" if spelling else name
    return spelling


def places(shape: Shape, place: str = "") -> dict[str, list[str]]:
    """Of each key, where it is known."""
    found: dict[str, list[str]] = {}
    if isinstance(shape, Each):
        return places(shape.of, f"{place}[]")
    if isinstance(shape, Members):
        for name, member in shape.of.items():
            here = f"{place}.{name}" if place else name
            if not isinstance(member, Fixed):
                found.setdefault(name, []).append(here)
            for deeper, where in places(member, here).items():
                found.setdefault(deeper, []).extend(where)
    return found


def _hint(name: str, known: Mapping[str, Shape], elsewhere: Mapping[str, Collection[str]]) -> str:
    if right := elsewhere.get(name):
        return f"It belongs to {' or '.join(right)}."
    close = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else _known(known)


def _known(known: Mapping[str, Shape]) -> str:
    return f"Known are {', '.join(sorted(known)[:LISTED])}."


def _quotes(value: JSON, shape: Kind) -> str:
    textual = shape.wanted.startswith("text")
    return "Put it in quotes." if textual and isinstance(value, bool | int | float) else ""
