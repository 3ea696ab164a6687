"""What a trace consists of. Pure; standard library only."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from oddish.storable import storable

type Value = str | bool | int | float | Sequence[str]

NAME_LIMIT = 200
"""Characters of what is no content: a name, a model, the id of a call."""
CONTENT_LIMIT = 8192
"""Characters of a content: a message, or what a tool was given or gave."""


@dataclass(frozen=True, slots=True)
class Period:
    """Seconds since 1970."""

    start: float
    end: float

    def within(self, moment: float) -> float:
        """The moment of the period that is nearest."""
        return min(max(moment, self.start), self.end)


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took a while, and what happened in it."""

    name: str
    period: Period
    attributes: Mapping[str, Value] = field(default_factory=dict)
    inner: Sequence["Span"] = ()
    error: str | None = None
    """The type of what ended it, else None."""
    message: str | None = None
    """Of that error."""
    kind: Literal["internal", "client"] = "internal"


@dataclass(frozen=True, slots=True)
class Trace:
    """One attempt. All attempts of a trial have the same trace, each a root span of its own."""

    trial_id: str
    everywhere: Mapping[str, Value]
    """Attributes of every span."""
    root: Span

    @property
    def number(self) -> int:
        """The id of the trace: 128 bits that only the trial decides."""
        return int.from_bytes(hashlib.sha256(f"oddish {self.trial_id}".encode()).digest()[:16])


@dataclass(frozen=True, slots=True)
class Clean:
    """Brings text from a trial into a form that can be sent: without secrets, and short."""

    redact: Callable[[str], str]

    def name(self, text: str) -> str:
        return self._cut(text, NAME_LIMIT)

    def content(self, text: str) -> str:
        return self._cut(text, CONTENT_LIMIT)

    def _cut(self, text: str, limit: int) -> str:
        # Before it is cut: a secret that was cut in two is no longer found.
        clean: str = storable(self.redact(text)[:limit])
        return clean
