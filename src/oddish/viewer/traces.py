"""``traces/<id>.json``: what one attempt said and did, as far as it is there. Pure."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oddish.documents import mapping, text, too_deep
from oddish.viewer.fields import Fields, shown, without_nothing
from oddish.viewer.findings import Notes


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str | None
    arguments: object
    """As JSON has it; a text that holds JSON is read."""
    id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    role: str | None
    content: object
    """A text, a list of parts, or whatever is there; ``text`` is what can be read of it."""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    """The call that this is the result of."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The content for a reader: its texts one below the other, other parts by their type."""
        if isinstance(self.content, list):
            return "\n".join(map(_part, self.content))
        return _part(self.content)


@dataclass(frozen=True, slots=True)
class Trace:
    task_id: str | None = None
    model: str | None = None
    harness: str | None = None
    attempt: int | None = None
    reward: float | None = None
    reward_method: str | None = None
    """Who gave the reward: ``exact``, ``numeric``, ``llm``; others are shown as they are."""
    n_turns: int | None = None
    elapsed_sec: float | None = None
    gold: str | None = None
    predicted: str | None = None
    messages: tuple[Message, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


def read_trace(document: Mapping[str, Any], notes: Notes) -> Trace:
    fields = Fields(document, "", notes)
    return Trace(
        task_id=fields.text("task_id"),
        model=fields.text("model"),
        harness=fields.text("harness"),
        attempt=fields.count("attempt", least=1),
        reward=fields.number("reward"),
        reward_method=fields.text("reward_method"),
        n_turns=fields.count("n_turns"),
        elapsed_sec=fields.number("elapsed_sec"),
        gold=fields.text("gold"),
        predicted=fields.text("predicted"),
        messages=tuple(read_message(place, item, notes) for place, item in fields.objects("messages")),
        extra=fields.rest,
    )


def read_message(place: str, item: Mapping[str, Any], notes: Notes) -> Message:
    fields = Fields(item, place, notes)
    return Message(
        role=fields.text("role"),
        content=fields.rest.pop("content", None),
        tool_calls=tuple(_read_call(call_place, call, notes) for call_place, call in fields.objects("tool_calls")),
        tool_call_id=fields.text("tool_call_id"),
        extra=fields.rest,
    )


def _read_call(place: str, item: Mapping[str, Any], notes: Notes) -> ToolCall:
    """One that is written flat, or as models are told of calls: name and arguments in an object ``function``."""
    fields = Fields(item, place, notes)
    function = fields.rest.get("function")
    inner = Fields(fields.rest.pop("function"), f"{place}.function", notes) if isinstance(function, dict) else fields
    name = inner.text("name")
    arguments = inner.rest.pop("arguments", None)
    identity = fields.text("id")
    extra = fields.rest if inner is fields or not inner.rest else fields.rest | {"function": inner.rest}
    return ToolCall(name, _decoded(arguments), identity, extra)


def _finite(number: str) -> float | str:
    """What a float cannot hold stays the text that it is."""
    value = float(number)
    return value if math.isfinite(value) else number


LENIENT = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=str)
"""Lets control characters through; NaN and infinite numbers become texts. Raises ValueError and RecursionError."""


def _decoded(arguments: object) -> object:
    if not isinstance(arguments, str):
        return arguments
    try:
        decoded = LENIENT.decode(arguments)
    except (ValueError, RecursionError):
        return arguments
    return decoded if isinstance(decoded, dict | list) and not too_deep(decoded) else arguments


def _part(part: object) -> str:
    if part is None:
        return ""
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        inner = text(part.get("text"))
        return inner if inner is not None else f"[{text(part.get('type')) or shown(part)}]"
    return shown(part)


def trace_document(trace: Trace) -> dict[str, Any]:
    """What ``read_trace`` reads as ``trace``."""
    return {
        **without_nothing(task_id=trace.task_id, model=trace.model, harness=trace.harness, attempt=trace.attempt),
        "reward": trace.reward,
        **without_nothing(
            reward_method=trace.reward_method,
            n_turns=trace.n_turns,
            elapsed_sec=trace.elapsed_sec,
            gold=trace.gold,
            predicted=trace.predicted,
        ),
        "messages": [_message_document(message) for message in trace.messages],
        **trace.extra,
    }


def _message_document(message: Message) -> dict[str, Any]:
    return {
        "role": message.role,
        "content": message.content,
        **without_nothing(
            tool_calls=[_call_document(call) for call in message.tool_calls], tool_call_id=message.tool_call_id
        ),
        **message.extra,
    }


def _call_document(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments} | mapping(call.extra.get("function"))
    rest = {name: value for name, value in call.extra.items() if name != "function"}
    return without_nothing(id=call.id) | rest | {"function": function}
