"""The server: each address below it is a conversation of its own, in whatever format it is spoken to."""

import gzip
import json
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.model_servers import anthropic, chat, gemini, responses
from support.model_servers.script import Failure, Script, Turn, Usage
from support.model_servers.wire import Event, Request, Said, Wire

WIRES: tuple[Wire, ...] = (anthropic, chat, responses, gemini)
PATIENCE = 120.0
"""Seconds that an answer waits for its gate."""
OVER = Turn("The script is over.")


@dataclass
class Conversation:
    """A script, how far it is, and what was reported of it: an answer counts once it was sent to its end."""

    url: str
    script: Script
    reported: Usage = field(default_factory=Usage)
    side: Usage = field(default_factory=Usage)
    answered: int = 0
    refused: int = 0
    keys: list[str | None] = field(default_factory=list)
    """With which the program's own turns were asked for, in order."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _refused_in_turn: int = 0

    def next(self, request: Request, key: str | None) -> Turn | Failure:
        if self.is_side(request):
            return self.script.side
        self.keys.append(key)
        turn = self.script.turns[self.answered] if self.answered < len(self.script.turns) else OVER
        if self._refused_in_turn < len(turn.failures):
            self._refused_in_turn += 1
            self.refused += 1
            return turn.failures[self._refused_in_turn - 1]
        return turn

    def is_side(self, request: Request) -> bool:
        return self.script.main_tool is not None and self.script.main_tool not in request.tools

    def sent(self, turn: Turn) -> None:
        if turn is self.script.side:
            self.side += turn.usage
            return
        self.answered += 1
        self._refused_in_turn = 0
        self.reported += turn.usage


class ModelServer:
    """On ``address``, which programs can reach: the loopback, or the one of the engine's bridge."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self._address = address
        self._url = ""
        self.conversations: dict[str, Conversation] = {}

    def add(self, name: str, script: Script) -> Conversation:
        """One more conversation; its ``url`` is what programs get, followed by ``/v1`` for those of OpenAI."""
        conversation = Conversation(f"{self._url}/{name}", script)
        self.conversations[name] = conversation
        return conversation

    @contextmanager
    def serving(self) -> Iterator["ModelServer"]:
        handler = type("Handler", (_Handler,), {"conversations": self.conversations})
        with ThreadingHTTPServer((self._address, 0), handler) as server:
            server.daemon_threads = True
            self._url = f"http://{self._address}:{server.server_port}"
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            try:
                yield self
            finally:
                server.shutdown()
                thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    conversations: Mapping[str, Conversation]

    def do_GET(self) -> None:
        if self.headers.get("Upgrade"):
            self._send(426, {"error": {"type": "invalid_request_error", "message": "use HTTP"}})
            return
        self._send(404, {"error": {"message": f"nothing is at {self.path}"}})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = self._body()
        path = self.path.partition("?")[0]
        conversation = self.conversations.get(path.split("/")[1])
        wire, request = _spoken(path, body)
        if conversation is None or wire is None or request is None:
            self.do_GET()
            return
        with conversation.lock:
            self._turn(conversation, wire, request)

    def _turn(self, conversation: Conversation, wire: Wire, request: Request) -> None:
        turn = conversation.next(request, self._key())
        if isinstance(turn, Failure):
            self._send(turn.status, wire.refusal(turn.status), turn.headers)
            return
        if turn.gate is not None:
            turn.gate.wait(PATIENCE)
        tag = "side" if turn is conversation.script.side else f"t{conversation.answered}"
        said = Said(turn, request.model, tag)
        try:
            if request.streamed:
                self._stream(wire.events(said))
            else:
                self._send(200, wire.answer(said))
        except ConnectionError:
            self.close_connection = True
        else:
            conversation.sent(turn)

    def _key(self) -> str | None:
        given = self.headers.get("x-api-key") or self.headers.get("x-goog-api-key")
        return given or (self.headers.get("authorization") or "").removeprefix("Bearer ") or None

    def _body(self) -> Any:
        if (length := self.headers.get("Content-Length")) is not None:
            raw = self.rfile.read(int(length))
        else:
            raw = b"".join(self._chunks())
        match self.headers.get("Content-Encoding"):
            case "gzip":
                raw = gzip.decompress(raw)
            case "deflate":
                raw = zlib.decompress(raw)
        return json.loads(raw or b"{}")

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _send(self, status: int, document: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _stream(self, events: Iterable[Event]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for name, content in events:
            data = content if isinstance(content, str) else json.dumps(content)
            text = (f"event: {name}\n" if name else "") + f"data: {data}\n\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text.encode()), text.encode()))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Tests print nothing."""


def _spoken(path: str, body: Mapping[str, Any]) -> tuple[Wire | None, Request | None]:
    for wire in WIRES:
        if request := wire.request(path, body):
            return wire, request
    return None, None
