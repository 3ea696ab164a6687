"""OpenAI Responses. ``input_tokens`` includes cached ones, ``output_tokens`` the reasoning. Newer models get their
tools as an item of the input, in namespaces."""

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

from support.model_servers.chat import refusal
from support.model_servers.wire import JSON, Event, Request, Said, pieces

__all__ = ["answer", "events", "refusal", "request"]


def request(path: str, body: JSON) -> Request | None:
    if not path.endswith("/responses"):
        return None
    tools = list(body.get("tools") or ())
    for item in body.get("input") or ():
        if isinstance(item, dict) and item.get("type") == "additional_tools":
            tools += item.get("tools") or ()
    inner = [part for tool in tools if tool.get("type") == "namespace" for part in tool.get("tools") or ()]
    names = [tool.get("name") or tool.get("type") for tool in (*tools, *inner)]
    return Request(names, body["model"], bool(body.get("stream")))


def answer(said: Said) -> JSON:
    return {**_unfinished(said), "status": "completed", "output": _items(said), "usage": _usage(said)}


def events(said: Said) -> list[Event]:
    opened = _unfinished(said)
    found: list[dict[str, Any]] = [
        {"type": kind, "response": opened} for kind in ("response.created", "response.in_progress")
    ]
    for index, item in enumerate(_items(said)):
        for kind, members in _item_events(item):
            found.append({"type": f"response.{kind}", "output_index": index, **members})
    found.append({"type": "response.completed", "response": answer(said)})
    numbers = itertools.count()
    return [(event["type"], {"sequence_number": next(numbers), **event}) for event in found]


def _item_events(item: JSON) -> Iterator[tuple[str, JSON]]:
    place: dict[str, Any] = {"item_id": item["id"]}
    match item["type"]:
        case "reasoning":
            text = item["summary"][0]["text"]
            place["summary_index"] = 0
            yield "output_item.added", {"item": {**item, "summary": []}}
            yield "reasoning_summary_part.added", {**place, "part": {"type": "summary_text", "text": ""}}
            for piece in pieces(text):
                yield "reasoning_summary_text.delta", {**place, "delta": piece}
            yield "reasoning_summary_text.done", {**place, "text": text}
        case "message":
            text = item["content"][0]["text"]
            place["content_index"] = 0
            empty: JSON = {"type": "output_text", "text": "", "annotations": []}
            yield "output_item.added", {"item": {**item, "content": [], "status": "in_progress"}}
            yield "content_part.added", {**place, "part": empty}
            for piece in pieces(text):
                yield "output_text.delta", {**place, "delta": piece}
            yield "output_text.done", {**place, "text": text}
        case "function_call":
            yield "output_item.added", {"item": {**item, "arguments": "", "status": "in_progress"}}
            for piece in pieces(item["arguments"]):
                yield "function_call_arguments.delta", {**place, "delta": piece}
            yield "function_call_arguments.done", {**place, "arguments": item["arguments"]}
        case _:
            yield "output_item.added", {"item": {**item, "input": "", "status": "in_progress"}}
            yield "custom_tool_call_input.delta", {**place, "delta": item["input"]}
    yield "output_item.done", {"item": item}


def _unfinished(said: Said) -> JSON:
    return {
        "id": f"resp_{said.tag}",
        "object": "response",
        "created_at": int(time.time()),
        "model": said.model,
        "status": "in_progress",
        "output": [],
        "usage": None,
        "error": None,
    }


def _items(said: Said) -> list[JSON]:
    turn, tag = said.turn, said.tag
    found: list[JSON] = []
    if turn.think:
        summary = [{"type": "summary_text", "text": turn.think}]
        found.append({"type": "reasoning", "id": f"rs_{tag}", "summary": summary, "encrypted_content": "c2NyaXB0ZWQ="})
    if turn.text:
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        message = {"type": "message", "id": f"msg_{tag}", "role": "assistant", "status": "completed"}
        found.append({**message, "content": content})
    for number, tool in enumerate(turn.tools):
        call = {"call_id": f"call_{tag}_{number}", "name": tool.name, "status": "completed"}
        if tool.custom:
            found.append({"type": "custom_tool_call", "id": f"ctc_{tag}_{number}", "input": tool.input, **call})
        else:
            arguments = json.dumps(tool.input)
            found.append({"type": "function_call", "id": f"fc_{tag}_{number}", "arguments": arguments, **call})
    return found


def _usage(said: Said) -> JSON:
    usage = said.turn.usage
    details = {"cached_tokens": usage.cached}
    if usage.cache_write:
        details["cache_write_tokens"] = usage.cache_write
    return {
        "input_tokens": usage.input,
        "input_tokens_details": details,
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }
