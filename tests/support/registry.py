"""A container registry that knows one account and shows nothing to anybody else. Keeps everything in memory."""

import base64
import hashlib
import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USERNAME, TOKEN = "acme", "dckr_pat_of-the-only-account"


@dataclass
class Registry:
    host: str
    """With its port; the engine speaks plain HTTP to a registry of its own machine."""
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """By tag or digest: media type and content."""
    refused: int = 0
    """Calls without the right account."""


@contextmanager
def running_registry() -> Iterator[Registry]:
    uploads: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status: int, content: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def handle_call(self) -> None:
            body = self._body()
            given = self.headers.get("Authorization", "")
            if given != f"Basic {base64.b64encode(f'{USERNAME}:{TOKEN}'.encode()).decode()}":
                registry.refused += bool(given) or self.path != "/v2/"
                self.answer(401, b"{}", WWW_Authenticate='Basic realm="registry"')
                return
            path = self.path.partition("?")[0]
            kind, reference = path.split("/")[-2:]
            if path == "/v2/":
                self.answer(200, b"{}")
            elif kind == "manifests" and self.command == "PUT":
                digest = _digest(body)
                kept = (self.headers["Content-Type"], body)
                registry.manifests |= {reference: kept, digest: kept}
                self.answer(201, Location=path, Docker_Content_Digest=digest)
            elif kind == "manifests" and reference in registry.manifests:
                media_type, content = registry.manifests[reference]
                self.answer(200, content, Content_Type=media_type, Docker_Content_Digest=_digest(content))
            elif kind == "blobs" and reference in registry.blobs:
                self.answer(200, registry.blobs[reference], Docker_Content_Digest=reference)
            elif self.command == "POST":
                self.answer(202, Location=f"{path.rstrip('/')}/{uuid.uuid4()}")
            elif self.command == "PATCH":
                uploads[path] = uploads.get(path, b"") + body
                self.answer(202, Location=path, Range=f"0-{len(uploads[path]) - 1}")
            elif self.command == "PUT":
                content = uploads.pop(path, b"") + body
                registry.blobs[_digest(content)] = content
                self.answer(201, Location=path, Docker_Content_Digest=_digest(content))
            else:
                self.answer(404, json.dumps({"errors": [{"code": "NAME_UNKNOWN"}]}).encode())

        do_GET = do_HEAD = do_POST = do_PATCH = do_PUT = handle_call  # noqa: N815

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Tests print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    registry = Registry(f"127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
