"""YAML of strangers as plain values: bounded before it is read, nothing in it is executed.

Scalars stay the text that they are unless the reader says otherwise, so that it does not matter which version of YAML a
later reader speaks.
"""

from collections.abc import Callable, Iterable
from typing import Any, cast

import yaml

MAX_EVENTS = 20_000
MAX_NODES = 50_000
"""After aliases."""
MAX_DEPTH = 40

_PLAIN_TAGS = frozenset(
    f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge")
) | {"!reset", "!override"}
"""Those of YAML's core, and the two of Compose that say how files are merged."""
_MERGE = "tag:yaml.org,2002:merge"
_NULL = "tag:yaml.org,2002:null"

type Value = str | list[Value] | dict[str, Value] | None
type Place = tuple[str | int, ...]
"""Keys and indices that lead to a value."""


class Unreadable(Exception):
    """The phrase follows the name of the file."""


def documents(text: str) -> list[Value]:
    """Every document of the text. Raises ``Unreadable``."""
    return cast("list[Value]", read_documents(text, _as_it_is))


def read_documents(
    text: str,
    scalar: Callable[[yaml.ScalarNode], object],
    seen: Callable[[Place, int], None] = lambda place, line: None,
) -> list[Any]:
    """Every document, scalars as ``scalar`` has them.

    ``seen`` is told the line of each value, the first being 1, and last that of its key, where it has one. Sizes are
    counted on events, which are not nested, before anything is built. Raises ``Unreadable``, also for what ``scalar``
    raises as ``ValueError``.
    """
    try:
        _bound(yaml.parse(text, Loader=yaml.SafeLoader))  # type: ignore[no-untyped-call]
        nodes = yaml.compose_all(text, Loader=yaml.SafeLoader)  # type: ignore[no-untyped-call]
        reading = _Reading(scalar, seen)
        return [reading.value(node, ()) for node in nodes if node is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise Unreadable(f"is not valid YAML{where}") from None
    except (ValueError, RecursionError):
        raise Unreadable("is not valid YAML") from None


def _as_it_is(node: yaml.ScalarNode) -> str | None:
    return None if node.tag == _NULL else str(node.value)


def _bound(events: Iterable[yaml.Event]) -> None:
    depth = 0
    for count, event in enumerate(events):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise Unreadable(f"is nested more than {MAX_DEPTH} deep")
        if count > MAX_EVENTS:
            raise Unreadable(f"holds more than {MAX_EVENTS} values")


class _Reading:
    """Turns nodes into values, at most ``MAX_NODES`` of them however often an alias repeats them."""

    def __init__(self, scalar: Callable[[yaml.ScalarNode], object], seen: Callable[[Place, int], None]) -> None:
        self._scalar = scalar
        self._seen = seen
        self._left = MAX_NODES

    def value(self, node: yaml.Node, place: Place) -> object:
        self._left -= 1
        if self._left < 0 or len(place) > MAX_DEPTH:
            raise Unreadable(f"repeats its aliases until there are more than {MAX_NODES} values")
        if node.tag not in _PLAIN_TAGS:
            raise Unreadable(f"has the tag {node.tag!r}, and only plain values are read")
        self._seen(place, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*place, index)) for index, item in enumerate(node.value)]
        return self._scalar(cast("yaml.ScalarNode", node))

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, object]:
        merged: dict[str, object] = {}
        own: dict[str, object] = {}
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise Unreadable("has a key that is no text")
            if key.tag == _MERGE:
                for source in item.value if isinstance(item, yaml.SequenceNode) else [item]:
                    found = self.value(source, (*place, "<<"))
                    for name, value in found.items() if isinstance(found, dict) else ():
                        merged.setdefault(name, value)
                continue
            if key.value in own:
                raise Unreadable(f"has the key {key.value!r} twice (line {key.start_mark.line + 1})")
            own[key.value] = self.value(item, (*place, key.value))
            self._seen((*place, key.value), key.start_mark.line + 1)  # where a reader looks for it
        return {**merged, **own}
