"""What the server asks of a wire format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from support.model_servers.script import Turn

type JSON = Mapping[str, Any]
type Event = tuple[str | None, JSON | str]
"""Of a stream: its name, if the format has names, and its data."""


@dataclass(frozen=True)
class Request:
    """``tools`` are the names of those that are offered."""

    tools: Sequence[str]
    model: str
    streamed: bool


@dataclass(frozen=True)
class Said:
    """A turn, to whom, and ``tag``, from which its ids are made."""

    turn: Turn
    model: str
    tag: str


class Wire(Protocol):
    """A module with these functions."""

    def request(self, path: str, body: JSON) -> Request | None:
        """None where this format has no model at ``path``."""

    def answer(self, said: Said) -> JSON: ...

    def events(self, said: Said) -> list[Event]: ...

    def refusal(self, status: int) -> JSON: ...


def pieces(text: str, size: int = 24) -> list[str]:
    """A text as a stream brings it."""
    return [text[start : start + size] for start in range(0, len(text), size)]
