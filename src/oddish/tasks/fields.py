"""Checks for values read from TOML, as liberal as the engine's own models.

A *check* takes a value and the dotted key it was found under and returns the normalised value; it raises
``FieldError`` for a value it cannot accept. The conversions are those the engine applies (numeric strings count as
numbers, 0 and "yes" as booleans), so that a file accepted here is accepted there. Standard library only.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

type Check = Callable[[Any, str], Any]

_WHOLE = re.compile(r"[+-]?\d+(_\d+)*(\.0+)?")
_TRUE = frozenset({"1", "on", "t", "true", "y", "yes"})
_FALSE = frozenset({"0", "off", "f", "false", "n", "no"})


class FieldError(Exception):
    """``key`` holds a value that is refused for ``reason`` (a phrase that continues "<key> ...")."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key} {reason}")
        self.key = key
        self.reason = reason


def shown(value: Any) -> str:
    """``value`` as the user wrote it, at most 60 characters of it."""
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise FieldError(key, f"must be text in quotes, not {shown(value)}")
    return value


def nonempty_text(value: Any, key: str) -> str:
    if not text(value, key):
        raise FieldError(key, "must not be empty")
    return str(value)


def number(value: Any, key: str) -> float:
    if isinstance(value, bool | int | float | str):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise FieldError(key, f"must be a number, not {shown(value)}")


def whole_number(value: Any, key: str) -> int:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value.strip().partition(".")[0])
    raise FieldError(key, f"must be a whole number, not {shown(value)}")


def boolean(value: Any, key: str) -> bool:
    if isinstance(value, bool | int | float) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    raise FieldError(key, f"must be true or false, not {shown(value)}")


def user(value: Any, key: str) -> str | int:
    if isinstance(value, str):
        return value
    try:
        return whole_number(value, key)
    except FieldError:
        raise FieldError(key, f"must be a user name or a numeric user id, not {shown(value)}") from None


def one_of(*choices: str) -> Check:
    def check(value: Any, key: str) -> str:
        if not isinstance(value, str) or value not in choices:
            listed = ", ".join(f'"{choice}"' for choice in choices)
            raise FieldError(key, f"must be one of {listed}, not {shown(value)}")
        return value

    return check


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Check
    then: Check | None = None

    def __call__(self, value: Any, key: str) -> Any:
        if not isinstance(value, list):
            raise FieldError(key, f"must be a list, not {shown(value)}")
        checked = [self.item(element, f"{key}[{index}]") for index, element in enumerate(value)]
        return checked if self.then is None else self.then(checked, key)


def list_of(item: Check, *, then: Check | None = None) -> Check:
    """``then`` checks the elements together, after each passed alone."""
    return ListOf(item, then)


def map_of(item: Check) -> Check:
    def check(value: Any, key: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise FieldError(key, f"must be a table, not {shown(value)}")
        return {name: item(element, f"{key}.{name}") for name, element in value.items()}

    return check


@dataclass(frozen=True, slots=True)
class Table:
    fields: Mapping[str, Check]
    required: tuple[str, ...]
    then: Check | None

    def __call__(self, value: Any, key: str) -> Any:
        if not isinstance(value, dict):
            raise FieldError(key, f"must be a table, not {shown(value)}")
        for name in self.required:
            if name not in value:
                raise FieldError(member(key, name), "is missing")
        known = {
            name: self.fields[name](element, member(key, name))
            for name, element in value.items()
            if name in self.fields
        }
        return known if self.then is None else self.then(known, key)


def table(fields: Mapping[str, Check], *, required: tuple[str, ...] = (), then: Check | None = None) -> Check:
    """A table whose known members are checked and returned; unknown members are ignored and left out.

    ``then`` checks the members together, after each passed alone.
    """
    return Table(fields, required, then)


@dataclass(frozen=True, slots=True)
class TextOr:
    text: Check
    other: Check

    def __call__(self, value: Any, key: str) -> Any:
        return self.text(value, key) if isinstance(value, str) else self.other(value, key)


def text_or(check: Check, other: Check) -> Check:
    """Text that passes ``check``, or anything else that passes ``other``."""
    return TextOr(check, other)


def member(key: str, name: str) -> str:
    """The dotted key of ``name`` inside the table ``key`` (the file's top level is "")."""
    return f"{key}.{name}" if key else name
