"""A receiver of callbacks on this machine."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


@dataclass
class Receiver:
    url: str = ""
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """What the next requests are answered, one after the other; then all are accepted."""
    answering: threading.Event = field(default_factory=threading.Event)
    """While it is clear no answer is given."""
    requests: list[Request] = field(default_factory=list)


@contextmanager
def receiver() -> Iterator[Receiver]:
    state = Receiver()
    state.answering.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            state.requests.append(Request(self.command, self.path, headers, body))
            state.answering.wait(20)
            status, extra = state.answers.pop(0) if state.answers else (204, {})
            self.send_response(status)
            for name, value in extra.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_PUT(self) -> None:
            self.do_POST()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            state.answering.set()
            server.shutdown()
            thread.join()
