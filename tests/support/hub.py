"""A Hugging Face Hub with buckets on loopback: its API, and the Xet storage to which files are uploaded.

Files arrive as clients send them: chunks in xorbs, then shards that say which chunks make which file
(huggingface.co/docs/xet). Chunks have to be uncompressed: ``HF_XET_XORB_COMPRESSION_POLICY=none``.
"""

import json
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import batched
from threading import Lock, Thread
from urllib.parse import unquote, urlsplit

TOKEN, READER = "hf_writer", "hf_reader"
PAGE = 3
"""Entries of a listing before the next page."""
_ENTRY = 48
_END = b"\xff" * 32
_VERIFIED, _WITH_METADATA = 1 << 31, 1 << 30


@dataclass
class Stored:
    content: bytes
    modified: int
    """Milliseconds since 1970."""

    def entry(self, path: str) -> dict[str, object]:
        moment = datetime.fromtimestamp(self.modified / 1000, UTC).isoformat(timespec="milliseconds")
        return {
            "type": "file",
            "path": path,
            "size": len(self.content),
            "xetHash": "0" * 64,
            "mtime": moment.replace("+00:00", "Z"),
            "uploadedAt": "2026-11-30T00:00:00.000Z",
        }


@dataclass
class Hub:
    url: str
    buckets: dict[str, dict[str, Stored]] = field(default_factory=dict)
    batches: list[list[dict[str, object]]] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    """Paths that a batch fails for."""
    uploaded_bytes: int = 0
    _xorbs: dict[str, list[bytes]] = field(default_factory=dict)
    _files: dict[str, bytes] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def environment(self, token: str = TOKEN) -> dict[str, str]:
        return {"HF_ENDPOINT": self.url, "HF_TOKEN": token, "HF_XET_XORB_COMPRESSION_POLICY": "none"}

    def take_xorb(self, name: str, content: bytes) -> None:
        chunks = []
        at = 0
        while at + 8 <= len(content) and content[at] == 0:
            size = int.from_bytes(content[at + 1 : at + 4], "little")
            assert content[at + 4] == 0, "a chunk is compressed"
            chunks.append(content[at + 8 : at + 8 + size])
            at += 8 + size
        with self._lock:
            self._xorbs[name] = chunks
            self.uploaded_bytes += len(content)

    def take_shard(self, content: bytes) -> None:
        entries = (content[at : at + _ENTRY] for at in range(_ENTRY, len(content), _ENTRY))
        for header in entries:
            if header[:32] == _END:
                return
            flags, count = struct.unpack("<II", header[32:40])
            file = b""
            for _ in range(count):
                entry = next(entries)
                begin, end = struct.unpack("<II", entry[40:48])
                file += b"".join(self._xorbs[_hex(entry[:32])][begin:end])
            for _ in range(count * bool(flags & _VERIFIED) + bool(flags & _WITH_METADATA)):
                next(entries)
            self._files[_hex(header[:32])] = file

    def apply(self, bucket: str, operations: list[dict[str, object]]) -> list[dict[str, str]]:
        """What failed of a batch."""
        self.batches.append(operations)
        failed = []
        files = self.buckets[bucket]
        for operation in operations:
            path = str(operation["path"])
            if path in self.refused:
                failed.append({"path": path, "error": "quota exceeded"})
            elif operation["type"] == "deleteFile":
                del files[path]
            else:
                content = self._files.get(str(operation["xetHash"]), b"")
                files[path] = Stored(content, int(str(operation["mtime"])))
        return failed


def _hex(name: bytes) -> str:
    """Hashes are written as four little-endian numbers."""
    return "".join(f"{number:016x}" for number in struct.unpack("<4Q", name))


@contextmanager
def hub() -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            match path.strip("/").split("/", 4):
                case ["api", "buckets", namespace, name, *rest]:
                    self._bucket(f"{namespace}/{name}", rest[0] if rest else "")
                case ["buckets", namespace, name, "resolve", key]:
                    stored = found.buckets.get(f"{namespace}/{name}", {}).get(key)
                    self._answer(200 if stored else 404, stored.content if stored else b"")
                case _:
                    self._answer(404)

        def do_POST(self) -> None:
            path = unquote(urlsplit(self.path).path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            match path.strip("/").split("/"):
                case ["v1", "xorbs", _, name]:
                    found.take_xorb(name, body)
                    self._json(200, {"was_inserted": True})
                case ["v1", "shards"]:
                    found.take_shard(body)
                    self._json(200, {"result": 1})
                case ["api", "buckets", namespace, name, "paths-info"]:
                    files = found.buckets.get(f"{namespace}/{name}", {})
                    self._json(200, [files[key].entry(key) for key in json.loads(body)["paths"] if key in files])
                case ["api", "buckets", namespace, name, "batch"]:
                    if self._token() != TOKEN:
                        self._json(403, {"error": "forbidden"})
                        return
                    failed = found.apply(f"{namespace}/{name}", [json.loads(line) for line in body.splitlines()])
                    self._json(422 if failed else 200, {"success": not failed, "failed": failed})
                case _:
                    self._answer(404)

        def _bucket(self, bucket: str, rest: str) -> None:
            files = found.buckets.get(bucket)
            if self._token() not in (TOKEN, READER):
                self._json(401, {"error": "Invalid credentials"})
            elif files is None:
                self._json(404, {"error": "Bucket not found"}, {"X-Error-Code": "RepoNotFound"})
            elif not rest:
                size = sum(len(stored.content) for stored in files.values())
                created = "2026-11-30T00:00:00.000Z"
                self._json(
                    200, {"id": bucket, "private": True, "createdAt": created, "size": size, "totalFiles": len(files)}
                )
            elif rest == "xet-write-token":
                if self._token() != TOKEN:
                    self._json(403, {"error": "forbidden"})
                    return
                granted = {"accessToken": "xet", "exp": int(time.time()) + 3600, "casUrl": found.url}
                self._json(200, granted)
            else:
                self._tree(files, rest.partition("/")[2])

        def _tree(self, files: dict[str, Stored], prefix: str) -> None:
            """Page by page: the next one is named in the header Link."""
            pages = list(batched(sorted(path for path in files if path.startswith(prefix)), PAGE)) or [()]
            number = int(urlsplit(self.path).query.rpartition("cursor=")[2] or 0) if "cursor=" in self.path else 0
            more = {}
            if number + 1 < len(pages):
                address = f"{found.url}{urlsplit(self.path).path}?recursive=true&cursor={number + 1}"
                more = {"Link": f'<{address}>; rel="next"'}
            self._json(200, [files[path].entry(path) for path in pages[number]], more)

        def _token(self) -> str:
            return self.headers.get("Authorization", "").removeprefix("Bearer ")

        def _json(self, status: int, document: object, headers: dict[str, str] | None = None) -> None:
            self._answer(status, json.dumps(document).encode(), {"Content-Type": "application/json"} | (headers or {}))

        def _answer(self, status: int, content: bytes = b"", headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Hub(f"http://127.0.0.1:{server.server_address[1]}")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
