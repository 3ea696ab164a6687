"""Gemini. ``promptTokenCount`` includes cached ones, ``candidatesTokenCount`` leaves the thoughts out; the last event
has them all."""

from collections.abc import Sequence

from support.model_servers.wire import JSON, Event, Request, Said, pieces


def request(path: str, body: JSON) -> Request | None:
    model, _, verb = path.rpartition("/")[2].partition(":")
    if verb not in ("streamGenerateContent", "generateContent"):
        return None
    offered = [each for tool in body.get("tools") or () for each in tool.get("functionDeclarations") or ()]
    return Request([each.get("name") for each in offered], model, verb == "streamGenerateContent")


def answer(said: Said) -> JSON:
    return _document(said, [*_thoughts(said), *_texts(said, len(said.turn.text)), *_calls(said)], last=True)


def events(said: Said) -> list[Event]:
    calls = _calls(said)
    parts = [*_thoughts(said), *_texts(said), *calls[:-1]]
    documents = [_document(said, [part]) for part in parts]
    return [(None, document) for document in (*documents, _document(said, calls[-1:] or [{"text": ""}], last=True))]


def refusal(status: int) -> JSON:
    kind = {429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}.get(status, "INTERNAL")
    return {"error": {"code": status, "status": kind, "message": kind}}


def _document(said: Said, parts: Sequence[JSON], *, last: bool = False) -> JSON:
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
    ending = {"finishReason": "STOP"} if last else {}
    document = {"candidates": [candidate | ending], "modelVersion": said.model, "responseId": f"resp-{said.tag}"}
    return document | ({"usageMetadata": _usage(said)} if last else {})


def _thoughts(said: Said) -> list[JSON]:
    return [{"text": said.turn.think, "thought": True}] if said.turn.think else []


def _texts(said: Said, size: int = 24) -> list[JSON]:
    return [{"text": piece} for piece in pieces(said.turn.text, size or 1)]


def _calls(said: Said) -> list[JSON]:
    return [{"functionCall": {"name": tool.name, "args": tool.input}} for tool in said.turn.tools]


def _usage(said: Said) -> JSON:
    usage = said.turn.usage
    counts = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "cachedContentTokenCount": usage.cached,
        "thoughtsTokenCount": usage.reasoning,
    }
    return {**{name: count for name, count in counts.items() if count}, "totalTokenCount": usage.input + usage.output}
