"""A model that says what a script says, over the Anthropic Messages interface on the loopback."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

type Turn = Mapping[str, Any]
"""``text``, and ``tools`` as pairs of a name and its input."""

USAGE = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 20}
MAIN_TOOL = "Bash"
"""Requests that do not offer it are not the agent's own turns: titles, checks of the key."""


class ScriptedModel:
    """Each key that calls is a conversation of its own, which starts at the first turn."""

    def __init__(self, turns: Sequence[Turn], files: Mapping[str, Path]) -> None:
        self._turns = turns
        self._files = files
        self._next: dict[str | None, int] = {}
        self._lock = threading.Lock()
        self.keys: list[str | None] = []
        """With which the agent's own turns were asked for, in order."""
        self.url = ""

    def turn(self, key: str | None, body: Mapping[str, Any]) -> Turn:
        if MAIN_TOOL not in [tool.get("name") for tool in body.get("tools", ())]:
            return {"text": "ok"}
        with self._lock:
            self.keys.append(key)
            number = self._next.get(key, 0)
            self._next[key] = (number + 1) % len(self._turns)
        return self._turns[number]

    @contextmanager
    def serving(self) -> Iterator["ScriptedModel"]:
        handler = type("Handler", (_Handler,), {"model": self})
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            server.daemon_threads = True
            self.url = f"http://127.0.0.1:{server.server_port}"
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            try:
                yield self
            finally:
                server.shutdown()
                thread.join()

    def file(self, path: str) -> Path | None:
        return self._files.get(path)


class _Handler(BaseHTTPRequestHandler):
    model: ScriptedModel
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        found = self.model.file(self.path)
        self._answer(200 if found else 404, found.read_bytes() if found else b"", "application/octet-stream")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if not self.path.partition("?")[0].endswith("/v1/messages"):
            self._answer(404, b"{}", "application/json")
            return
        key = self.headers.get("x-api-key") or (self.headers.get("authorization") or "").removeprefix("Bearer ") or None
        turn = self.model.turn(key, body)
        blocks = list(_blocks(turn))
        stop = "tool_use" if turn.get("tools") else "end_turn"
        message = {"id": f"msg_{id(turn)}", "type": "message", "role": "assistant", "model": body.get("model")}
        message |= {"content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": USAGE}
        if not body.get("stream"):
            self._answer(200, json.dumps(message).encode(), "application/json")
            return
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(message, blocks)]
        self._answer(200, "".join(lines).encode(), "text/event-stream")

    def _answer(self, status: int, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Tests print nothing."""


def _blocks(turn: Turn) -> Iterator[dict[str, Any]]:
    if turn.get("text"):
        yield {"type": "text", "text": turn["text"]}
    for number, (name, given) in enumerate(turn.get("tools", ())):
        yield {"type": "tool_use", "id": f"toolu_{id(turn)}_{number}", "name": name, "input": given}


def _events(message: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    opening = {**message, "content": [], "stop_reason": None, "usage": {**USAGE, "output_tokens": 1}}
    yield {"type": "message_start", "message": opening}
    for index, block in enumerate(blocks):
        empty: dict[str, Any] = {"text": ""} if block["type"] == "text" else {"input": {}}
        delta = (
            {"type": "text_delta", "text": block["text"]}
            if block["type"] == "text"
            else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        )
        yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": USAGE}
    yield {"type": "message_stop"}
