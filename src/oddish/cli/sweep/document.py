"""A YAML or JSON file of strangers as JSON values, with the lines of YAML."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import yaml

from oddish.client.types import JSON
from oddish.tasks.characters import value_flaw
from oddish.tasks.plainyaml import MAX_NODES, Place, Unreadable, read_documents

LARGEST = 1024 * 1024
"""Bytes."""
LONGEST_NUMBER = 100
"""Characters, of those that YAML alone takes for numbers."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
"""As JSON writes them: YAML 1.1 takes 1e6 for text."""


@dataclass(frozen=True)
class Document:
    values: dict[str, JSON]
    lines: Mapping[Place, int] = field(default_factory=dict)
    """Of values and keys, the first line being 1; none of JSON."""

    def line(self, place: Place) -> int | None:
        """Of the value there, else of the nearest one around it that has a line."""
        while place:
            if place in self.lines:
                return self.lines[place]
            place = place[:-1]
        return None


def read_document(path: Path) -> Document:
    """The mapping that the file holds. Raises ``Unreadable``."""
    text = _text(path)
    document = _json(text) if path.suffix.lower() == ".json" else _yaml(text)
    if reason := value_flaw(document.values):
        raise Unreadable(f"cannot be used: {reason}")
    return document


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    if len(content) > LARGEST:
        raise Unreadable(f"is larger than {LARGEST} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not UTF-8 text (byte {error.start})") from None


def _json(text: str) -> Document:
    try:
        values = json.loads(text, object_pairs_hook=_without_twins, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise Unreadable(f"is not valid JSON (line {error.lineno}: {error.msg})") from None
    except (ValueError, RecursionError):
        raise Unreadable("is not valid JSON") from None
    _bound(values)
    return Document(_mapping(values))


def _without_twins(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for name, value in pairs:
        if name in found:
            raise Unreadable(f"has the key {name!r} twice")
        found[name] = value
    return found


def _no_number(name: str) -> None:
    raise Unreadable(f"holds {name}, a number that JSON has no form for")


def _bound(values: object) -> None:
    count, waiting = 0, [values]
    while waiting:
        found = waiting.pop()
        count += 1
        if count > MAX_NODES:
            raise Unreadable(f"holds more than {MAX_NODES} values")
        if isinstance(found, dict | list):
            waiting += found.values() if isinstance(found, dict) else found


def _yaml(text: str) -> Document:
    lines: dict[Place, int] = {}
    documents = read_documents(text, _scalar, lines.__setitem__)
    if len(documents) > 1:
        raise Unreadable(f"holds {len(documents)} documents, not one")
    return Document(_mapping(documents[0] if documents else None), lines)


def _mapping(values: object) -> dict[str, JSON]:
    if values is None or values == {}:
        raise Unreadable("is empty")
    if not isinstance(values, dict):
        raise Unreadable(f"is {'a list' if isinstance(values, list) else 'a single value'}, not a mapping of keys")
    return cast("dict[str, JSON]", values)


_constructor = yaml.constructor.SafeConstructor()  # type: ignore[no-untyped-call]
_CONSTRUCTORS: Mapping[str, Callable[[yaml.ScalarNode], object]] = {
    "bool": lambda node: _constructor.bool_values[node.value.lower()],
    "int": _constructor.construct_yaml_int,
    "float": _constructor.construct_yaml_float,
}


def _scalar(node: yaml.ScalarNode) -> object:
    """As Harbor reads it, but dates and times stay text. Raises ``ValueError`` for a tag that its text belies."""
    kind, text = node.tag.rpartition(":")[2], str(node.value)
    if kind == "null":
        return None
    if node.style is None and _NUMBER.fullmatch(text):
        return json.loads(text)
    if kind not in _CONSTRUCTORS or ":" in text:
        return text
    if len(text) > LONGEST_NUMBER:
        raise ValueError(kind)
    try:
        return _CONSTRUCTORS[kind](node)
    except LookupError:
        raise ValueError(kind) from None
