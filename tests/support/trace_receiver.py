"""A receiver of traces on this machine: OTLP over HTTP, decoded."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Receiver:
    url: str = ""
    status: int = 200
    """With which it answers."""
    answering: threading.Event = field(default_factory=threading.Event)
    """While it is clear no answer is given."""
    headers: list[Message] = field(default_factory=list)
    """Of each request."""
    spans: list[Span] = field(default_factory=list)
    resource: dict[str, object] = field(default_factory=dict)
    """Attributes of the one that came last."""

    def named(self, name: str) -> Span:
        """The only span of this name."""
        [span] = [span for span in self.spans if span.name == name]
        return span


@contextmanager
def receiver() -> Iterator[Receiver]:
    """One that answers on a port of its own."""
    state = Receiver()
    state.answering.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            state.headers.append(self.headers)
            for told in ExportTraceServiceRequest.FromString(body).resource_spans:
                state.resource = attributes(told.resource)
                state.spans += [span for scope in told.scope_spans for span in scope.spans]
            state.answering.wait(60)
            self.send_response(state.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield state
    finally:
        state.answering.set()
        server.shutdown()
        thread.join()
        server.server_close()


def attributes(thing: object) -> dict[str, object]:
    """Those of a span or a resource."""
    return {pair.key: _value(pair.value) for pair in thing.attributes}


def _value(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else None
