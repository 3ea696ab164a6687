"""YAML of strangers as plain values: bounded before it is read, nothing in it is executed.

Scalars stay the text that they are, so that it does not matter which version of YAML a later reader speaks.
"""

from collections.abc import Iterable

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


class Unreadable(Exception):
    """The phrase follows the name of the file."""


def documents(text: str) -> list[Value]:
    """Every document of the text. Sizes are counted on events, which are not nested, before anything is built.

    Raises ``Unreadable``.
    """
    try:
        _bound(yaml.parse(text, Loader=yaml.SafeLoader))  # type: ignore[no-untyped-call]
        nodes = yaml.compose_all(text, Loader=yaml.SafeLoader)  # type: ignore[no-untyped-call]
        budget = _Budget()
        return [budget.value(node) for node in nodes if node is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise Unreadable(f"is not valid YAML{where}") from None
    except (ValueError, RecursionError):
        raise Unreadable("is not valid YAML") from None


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
            raise Unreadable("holds more values than services need")


class _Budget:
    """Turns nodes into values, at most ``MAX_NODES`` of them however often an alias repeats them."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def value(self, node: yaml.Node, depth: int = 0) -> Value:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise Unreadable("repeats its aliases beyond what services need")
        if node.tag not in _PLAIN_TAGS:
            raise Unreadable(f"has the tag {node.tag!r}, which services do not need")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return None if node.tag == _NULL else str(node.value)

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Value]:
        merged: dict[str, Value] = {}
        own: dict[str, Value] = {}
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise Unreadable("has a key that is no text")
            if key.tag == _MERGE:
                for source in item.value if isinstance(item, yaml.SequenceNode) else [item]:
                    found = self.value(source, depth + 1)
                    for name, value in found.items() if isinstance(found, dict) else ():
                        merged.setdefault(name, value)
                continue
            if key.value in own:
                raise Unreadable(f"has the key {key.value!r} twice")
            own[key.value] = self.value(item, depth + 1)
        return {**merged, **own}
