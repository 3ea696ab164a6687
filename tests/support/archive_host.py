"""Where callers of the gateway keep their archives: a server on loopback, and zips of tasks."""

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread


@dataclass
class ArchiveHost:
    """Answers with what ``files`` has under the path, whatever the query."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    refusals: list[int] = field(default_factory=list)
    """Statuses that the next requests are answered with instead."""
    answers: Event = field(default_factory=Event)
    """Until it is set, requests wait."""

    def __post_init__(self) -> None:
        self.answers.set()

    def put(self, path: str, content: bytes) -> str:
        """The address."""
        self.files[f"/{path}"] = content
        return f"{self.url}/{path}"


@contextmanager
def archive_host() -> Iterator[ArchiveHost]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host.asked.append(self.path)
            host.answers.wait(30)
            content = host.files.get(self.path.partition("?")[0], b"")
            status = host.refusals.pop(0) if host.refusals else 200 if content else 404
            self.send_response(status)
            self.send_header("Content-Length", str(len(content) if status == 200 else 0))
            self.end_headers()
            if status == 200:
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        host = ArchiveHost(f"http://127.0.0.1:{server.server_address[1]}")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield host
        finally:
            host.answers.set()
            server.shutdown()
            thread.join()


def zipped(directory: Path, *, wrapper: str = "", without: str | None = None) -> bytes:
    """The files of ``directory``, below ``wrapper``; without those whose path begins with ``without``."""
    paths = [path for path in sorted(directory.rglob("*")) if path.is_file()]
    names = {path: str(path.relative_to(directory)) for path in paths}
    return archived(
        {f"{wrapper}{name}": path for path, name in names.items() if without is None or not name.startswith(without)}
    )


def archived(files: Mapping[str, Path]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, path in files.items():
            archive.write(path, name)
    return buffer.getvalue()
