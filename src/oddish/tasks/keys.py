"""Keys of task.toml that mean nothing: Harbor ignores them without a word. Standard library only."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oddish.tasks.config import CONFIG
from oddish.tasks.fields import Check, ListOf, Table, TextOr, member

LEGACY = {"": frozenset({"version"})}
"""Former spellings that are still read, by the table they stand in."""
_SIMILARITY = 0.6


@dataclass(frozen=True, slots=True)
class UnknownKey:
    key: str
    """Dotted: ``agent.timeout``, ``steps[0].verifer``."""
    closest: str | None
    """The dotted key that may have been meant."""


def unknown_keys(document: Mapping[str, Any]) -> list[UnknownKey]:
    """Those of a parsed task.toml, in its order. A member of another type than its table's has none."""
    return list(_in(CONFIG, document, ""))


def _in(check: Check, value: Any, key: str) -> Iterator[UnknownKey]:
    if isinstance(check, TextOr):
        yield from _in(check.other, value, key)
    elif isinstance(check, ListOf) and isinstance(value, list):
        for index, element in enumerate(value):
            yield from _in(check.item, element, f"{key}[{index}]")
    elif isinstance(check, Table) and isinstance(value, Mapping):
        for name, element in value.items():
            if name in check.fields:
                yield from _in(check.fields[name], element, member(key, name))
            elif name not in LEGACY.get(key, frozenset()):
                yield UnknownKey(member(key, name), _closest(name, check.fields, key))


def _closest(name: str, fields: Mapping[str, Check], key: str) -> str | None:
    """A key of the same table, else one of the top-level tables that is spelt so."""
    if near := difflib.get_close_matches(name, fields, n=1, cutoff=_SIMILARITY):
        return member(key, near[0])
    tables = CONFIG.fields.items() if isinstance(CONFIG, Table) else ()
    return next((member(at, name) for at, found in tables if isinstance(found, Table) and name in found.fields), None)
