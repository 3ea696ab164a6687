"""Trajectories in Harbor's format ATIF, any version 1, as the messages of a trace. Pure.

What is for training rather than for reading (ids and probabilities of tokens) is left behind.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from oddish.documents import mapping, mappings, text
from oddish.viewer.fields import without_nothing
from oddish.viewer.traces import Message, ToolCall

_ROLES = {"agent": "assistant", "user": "user", "system": "system"}


def messages(trajectory: Mapping[str, Any]) -> list[Message]:
    """Each step's message, and after it what its calls returned. Anything else than a trajectory has none."""
    return [message for step in mappings(trajectory.get("steps")) for message in _of_step(step)]


def turns(trajectory: Mapping[str, Any]) -> int:
    """Steps of the agent, without those that were copied from an earlier trajectory."""
    return sum(
        step.get("source") == "agent" and step.get("is_copied_context") is not True
        for step in mappings(trajectory.get("steps"))
    )


def _of_step(step: Mapping[str, Any]) -> Iterator[Message]:
    source = text(step.get("source"))
    yield Message(
        role=_ROLES.get(source or "", source),
        content=step.get("message"),
        tool_calls=tuple(map(_call, mappings(step.get("tool_calls")))),
        extra=without_nothing(
            reasoning_content=text(step.get("reasoning_content")), timestamp=text(step.get("timestamp"))
        ),
    )
    for result in mappings(mapping(step.get("observation")).get("results")):
        yield Message("tool", result.get("content"), tool_call_id=text(result.get("source_call_id")))


def _call(call: Mapping[str, Any]) -> ToolCall:
    return ToolCall(text(call.get("function_name")), call.get("arguments"), text(call.get("tool_call_id")))
