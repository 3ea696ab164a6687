"""Which texts can be stored, sent and given to programs. Standard library only: the command line imports it."""

import math
import re
from collections.abc import Mapping

from oddish.errors import InvalidInput

DEEPEST = 100
"""Levels of lists and objects in one another."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHOWN = 40


def flaw(text: str) -> str | None:
    """What keeps ``text`` from being stored, as a phrase that follows its name."""
    if "\0" in text:
        return "holds a NUL character"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return f"holds half a character ({text[error.start]!r})"
    return None


def variable_flaw(name: str, value: str) -> str | None:
    """Why no program can be given the variable; the phrase names it and shows nothing of its value."""
    shown = repr(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…")
    if not _VARIABLE.fullmatch(name):
        return f"{shown} is no name of a variable: letters, digits and underscores, no digit first"
    reason = flaw(value)
    return None if reason is None else f"the value of {shown} {reason}"


def value_flaw(value: object) -> str | None:
    """The first thing, deep in a JSON value, that cannot be stored; the phrase says where it is."""
    waiting: list[tuple[tuple[str, ...], object]] = [((), value)]
    while waiting:
        path, found = waiting.pop()
        place = ".".join(path) or "it"
        if len(path) > DEEPEST:
            return f"{'.'.join(path[:3])} holds more than {DEEPEST} levels of lists and objects"
        if isinstance(found, str) and (reason := flaw(found)):
            return f"{place} {reason}"
        if isinstance(found, float) and not math.isfinite(found):
            return f"{place} is {found}, a number that JSON has no form for"
        if isinstance(found, Mapping):
            for name in found:
                if reason := flaw(str(name)):
                    return f"the name {name!r}{f' in {place}' if path else ''} {reason}"
            waiting += [((*path, str(name)), member) for name, member in reversed(list(found.items()))]
        elif isinstance(found, list):
            waiting += [((*path, str(index)), member) for index, member in reversed(list(enumerate(found)))]
    return None


def refuse_unstorable(value: object) -> None:
    """Raise ``InvalidInput`` for what ``value_flaw`` finds."""
    if reason := value_flaw(value):
        raise InvalidInput(f"{reason}.", fix="Leave it out.")
