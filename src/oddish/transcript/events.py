"""What a live transcript consists of: events, short enough to store thousands of them. Pure; standard library only."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from oddish.storable import storable

TEXT_LIMIT = 2048
"""Characters of a text in a payload."""
NAME_LIMIT = 200
"""Characters of a name: of a tool, a model or a session."""
LOOKED_AT = 16 * 1024
"""Characters of a longer text in which secrets are looked for; more could not be shown anyway."""
LONGEST_SECRET = 4096
"""What is cut off within a secret of this many characters shows no part of it."""

type Kind = Literal["message", "tool_use", "tool_result", "summary"]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that an agent said, did or was told.

    The payload of a ``message`` has ``text``, of a ``tool_use`` ``name`` and ``input`` (a string, mostly JSON), of a
    ``tool_result`` ``content`` and, where it failed, ``is_error: true``; a ``summary`` tells in ``text`` how the run
    goes: requests that failed, ends, what was left out. Reasoning is a message with ``thinking: true``; what a
    sub-agent does has ``subagent: true``. A text that was cut has ``truncated: true`` beside it, one from which
    secrets were taken ``sanitized: true``.
    """

    kind: Kind
    payload: dict[str, Any]


class Scribe:
    """Writes events: without secrets, in a form that can be stored, cut to ``TEXT_LIMIT``."""

    def __init__(self, redact: Callable[[str], str] | None = None) -> None:
        self._redact = redact or _unchanged

    def message(self, text: object, *, thinking: bool = False, subagent: bool = False) -> list[Event]:
        """One event; none for a text that is blank or no text."""
        if not isinstance(text, str) or not text or text.isspace():
            return []
        payload = self._text(text=text)
        if thinking:
            payload["thinking"] = True
        return [Event("message", _marked(payload, subagent))]

    def tool_use(self, name: object, arguments: object, *, subagent: bool = False) -> list[Event]:
        """One event; ``arguments`` are a JSON value, or a string that is taken as it is."""
        tool = name if isinstance(name, str) and name else "unknown"
        payload = {"name": storable(self._redact(tool)[:NAME_LIMIT])}
        payload |= self._text(input=arguments if isinstance(arguments, str) else _json(arguments))
        return [Event("tool_use", _marked(payload, subagent))]

    def tool_result(self, content: object, *, is_error: bool = False, subagent: bool = False) -> list[Event]:
        """One event; ``content`` is a text, a list of parts that have one, or any JSON value."""
        payload = self._text(content=as_text(content).rstrip())
        if is_error:
            payload["is_error"] = True
        return [Event("tool_result", _marked(payload, subagent))]

    def summary(self, text: str) -> list[Event]:
        """One event."""
        return [Event("summary", self._text(text=text))]

    def _text(self, **text: str) -> dict[str, Any]:
        ((member, whole),) = text.items()
        looked_at = whole[:LOOKED_AT]
        clean = self._redact(looked_at)
        sound = clean if len(whole) <= LOOKED_AT else clean[: max(len(clean) - LONGEST_SECRET, 0)]
        payload: dict[str, Any] = {member: storable(sound[:TEXT_LIMIT])}
        if len(whole) > LOOKED_AT or len(sound) > TEXT_LIMIT:
            payload["truncated"] = True
        if clean != looked_at:
            payload["sanitized"] = True
        return payload


def as_text(content: object) -> str:
    """The text of a content: itself, that of its parts on lines of their own, or its JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part(part) for part in content)
    return "" if content is None else _json(content)


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        text = part.get("text")
        if isinstance(text, str):
            return text
        kind = part.get("type")
        if kind in ("image", "audio"):
            return f"[{kind}]"
    return _json(part)


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "..."


def _marked(payload: dict[str, Any], subagent: bool) -> dict[str, Any]:
    return payload | {"subagent": True} if subagent else payload


def _unchanged(text: str) -> str:
    return text
