"""Anthropic Messages. ``input_tokens`` leaves out what was read from or written to a cache; ``message_start`` has the
input with an output of 1, and ``message_delta`` the final output, which replaces it."""

import json

from support.model_servers.wire import JSON, Event, Request, Said, pieces


def request(path: str, body: JSON) -> Request | None:
    if not path.endswith("/v1/messages"):
        return None
    names = [tool.get("name") or tool.get("type") for tool in body.get("tools", ())]
    return Request(names, body["model"], bool(body.get("stream")))


def answer(said: Said) -> JSON:
    return {
        "id": f"msg_{said.tag}",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": _blocks(said),
        "stop_reason": "tool_use" if said.turn.tools else "end_turn",
        "stop_sequence": None,
        "usage": _usage(said),
    }


def events(said: Said) -> list[Event]:
    message = answer(said)
    opening = {**message, "content": [], "stop_reason": None, "usage": {**_usage(said), "output_tokens": 1}}
    found: list[JSON] = [{"type": "message_start", "message": opening}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        start, deltas = _streamed(block)
        found.append({"type": "content_block_start", "index": index, "content_block": start})
        found += ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        found.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    found += [{"type": "message_delta", "delta": ending, "usage": _usage(said)}, {"type": "message_stop"}]
    return [(event["type"], event) for event in found]


def refusal(status: int) -> JSON:
    kind = {429: "rate_limit_error", 529: "overloaded_error"}.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": kind}}


def _blocks(said: Said) -> list[JSON]:
    turn = said.turn
    found: list[JSON] = []
    if turn.think:
        found.append({"type": "thinking", "thinking": turn.think, "signature": "c2NyaXB0ZWQ="})
    if turn.text:
        found.append({"type": "text", "text": turn.text})
    for number, tool in enumerate(turn.tools):
        call = f"toolu_{said.tag}_{number}"
        found.append({"type": "tool_use", "id": call, "name": tool.name, "input": tool.input})
    return found


def _streamed(block: JSON) -> tuple[JSON, list[JSON]]:
    """The block as it begins, and what is added to it."""
    match block["type"]:
        case "thinking":
            thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*thoughts, signature]
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        case _:
            parts = pieces(json.dumps(block["input"]))
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]


def _usage(said: Said) -> JSON:
    usage = said.turn.usage
    return {
        "input_tokens": usage.fresh,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    }
