"""OpenAI Chat Completions. ``prompt_tokens`` includes cached ones, ``completion_tokens`` the reasoning."""

import json
import time
from typing import Any

from support.model_servers.wire import JSON, Event, Request, Said, pieces


def request(path: str, body: JSON) -> Request | None:
    if not path.endswith("/chat/completions"):
        return None
    names = [tool["function"]["name"] for tool in body.get("tools") or ()]
    return Request(names, body["model"], bool(body.get("stream")))


def answer(said: Said) -> JSON:
    turn = said.turn
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.think:
        message["reasoning_content"] = turn.think
    if turn.tools:
        message["tool_calls"] = _calls(said)
    choice = {"index": 0, "finish_reason": _finish(said), "message": message}
    return {**_base(said), "object": "chat.completion", "usage": _usage(said), "choices": [choice]}


def events(said: Said) -> list[Event]:
    turn = said.turn
    deltas: list[JSON] = [{"role": "assistant", "content": ""}]
    deltas += ({"reasoning_content": piece} for piece in pieces(turn.think))
    deltas += ({"content": piece} for piece in pieces(turn.text))
    for index, call in enumerate(_calls(said)):
        arguments = call["function"]["arguments"]
        opening = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [opening]})
        deltas += ({"tool_calls": [{"index": index, "function": {"arguments": part}}]} for part in pieces(arguments))
    last: JSON = {**_chunk(said), "choices": [], "usage": _usage(said)}
    chunks = [_chunk(said, delta) for delta in deltas] + [_chunk(said, {}, _finish(said)), last]
    return [*((None, chunk) for chunk in chunks), (None, "[DONE]")]


def refusal(status: int) -> JSON:
    kind = {429: "rate_limit_exceeded"}.get(status, "server_error")
    return {"error": {"type": kind, "code": kind, "param": None, "message": kind}}


def _base(said: Said) -> JSON:
    return {"id": f"chatcmpl-{said.tag}", "created": int(time.time()), "model": said.model}


def _chunk(said: Said, delta: JSON | None = None, finish: str | None = None) -> JSON:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {**_base(said), "object": "chat.completion.chunk", "choices": choices}


def _calls(said: Said) -> list[JSON]:
    return [
        {
            "id": f"call_{said.tag}_{number}",
            "type": "function",
            "function": {"name": tool.name, "arguments": json.dumps(tool.input)},
        }
        for number, tool in enumerate(said.turn.tools)
    ]


def _finish(said: Said) -> str:
    return "tool_calls" if said.turn.tools else "stop"


def _usage(said: Said) -> JSON:
    usage = said.turn.usage
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
