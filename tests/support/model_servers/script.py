"""What a model says, turn by turn, in no wire format."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Usage:
    """Tokens that are reported, not measured. ``fresh`` is input from no cache; ``output`` includes ``reasoning``."""

    fresh: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def input(self) -> int:
        """All of it."""
        return self.fresh + self.cached + self.cache_write

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.fresh + other.fresh,
            self.cached + other.cached,
            self.cache_write + other.cache_write,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True)
class Tool:
    """A call. ``custom`` is OpenAI's kind whose input is a text."""

    name: str
    input: Mapping[str, Any] | str
    custom: bool = False


@dataclass(frozen=True)
class Failure:
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    text: str = ""
    tools: tuple[Tool, ...] = ()
    usage: Usage = Usage()
    think: str = ""
    failures: tuple[Failure, ...] = ()
    """Answered first, one by one."""
    gate: threading.Event | None = None
    """The answer waits for it."""


@dataclass(frozen=True)
class Script:
    """``main_tool`` is offered by the program's own turns; where it is named, other requests, such as for a title,
    get ``side`` and leave the turns alone."""

    turns: tuple[Turn, ...]
    main_tool: str | None = None
    side: Turn = Turn("Greeting file", usage=Usage(40, output=5))
