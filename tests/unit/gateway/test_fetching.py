"""Archives are fetched from where was checked, and from nowhere else."""

import asyncio
import contextlib
import hashlib
import ipaddress
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from oddish.errors import OddishError
from oddish.gateway.addresses import LOOPBACK, AllowedHosts, IPAddress, parse_address
from oddish.gateway.fetching import (
    ArchiveRefused,
    ArchiveTooLarge,
    ArchiveUnreachable,
    Fetched,
    Fetcher,
    RedirectRefused,
)

CONTENT = b"an archive " * 1000
LIMIT = 50_000


@dataclass
class Host:
    """A real server on loopback that remembers what it was asked."""

    port: int
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=dict)


def answer(status: int = 200, body: bytes = CONTENT, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return send


@pytest.fixture
def host() -> Iterator[Host]:
    with serving() as running:
        yield running


@contextmanager
def serving() -> Iterator[Host]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            running.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            running.answers.get(self.path.partition("?")[0], answer(404, b""))(self)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        running = Host(server.server_address[1], answers={"/task.zip": answer()})
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield running
        finally:
            server.shutdown()
            thread.join()


def fetch(
    tmp_path: Path,
    address: str,
    *answers: Sequence[str],
    allowed: AllowedHosts = LOOPBACK,
    total_seconds: float = 20,
    patience_seconds: float = 20,
) -> Fetched:
    """With a name service that gives ``answers`` one after the other, and the last one from then on."""
    waiting = list(answers or [["127.0.0.1"]])

    async def resolve(_: str) -> Sequence[IPAddress]:
        found = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return [ipaddress.ip_address(place) for place in found]

    fetcher = Fetcher(LIMIT, total_seconds, allowed, resolve, patience_seconds)
    return asyncio.run(fetcher.fetch(parse_address(address), tmp_path / "task.zip"))


def refused(
    tmp_path: Path, error: type[OddishError], address: str, *answers: Sequence[str], **options: float
) -> OddishError:
    with pytest.raises(error) as refusal:
        fetch(tmp_path, address, *answers, **options)
    assert refusal.value.fix
    assert not [*tmp_path.glob("task.zip")]
    return refusal.value


def test_an_archive_is_fetched_with_its_size_and_hash(tmp_path: Path, host: Host) -> None:
    fetched = fetch(tmp_path, f"http://files.example:{host.port}/task.zip?sig=a%2Fb")
    assert (tmp_path / "task.zip").read_bytes() == CONTENT
    assert fetched == Fetched(len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    path, headers = host.asked[0]
    assert path == "/task.zip?sig=a%2Fb"
    assert headers["host"] == f"files.example:{host.port}"


def test_nothing_but_the_request_is_sent(tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    (tmp_path / ".netrc").write_text("default login me password mine\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    host.answers["/first.zip"] = answer(302, b"", Location="/task.zip", Set_Cookie="a=b")
    fetch(tmp_path, f"http://files.example:{host.port}/first.zip")
    for _, headers in host.asked:
        assert set(headers) == {"host", "user-agent", "accept", "accept-encoding", "connection"}


def test_a_redirect_is_followed_to_a_public_host(tmp_path: Path, host: Host) -> None:
    host.answers["/first.zip"] = answer(307, b"", Location=f"http://other.example:{host.port}/task.zip")
    fetch(tmp_path, f"http://files.example:{host.port}/first.zip")
    assert host.asked[1][1]["host"] == f"other.example:{host.port}"


@pytest.mark.parametrize(
    "location",
    [
        "ftp://files.example/t.zip",
        "http://user:secret@files.example/t.zip",
        "file:///etc/passwd",
        "",
        "http://0x7f.1/t.zip",
    ],
)
def test_a_redirect_is_held_to_the_same_rules(tmp_path: Path, host: Host, location: str) -> None:
    host.answers["/first.zip"] = answer(302, b"", Location=location)
    error = refused(tmp_path, RedirectRefused, f"http://files.example:{host.port}/first.zip")
    assert "secret" not in str(error)


def test_a_redirect_to_a_private_host_is_not_followed(tmp_path: Path, host: Host) -> None:
    with serving() as private:
        host.answers["/first.zip"] = answer(302, b"", Location=f"http://inside.example:{private.port}/task.zip")
        names = AllowedHosts.of(["files.example"])
        with pytest.raises(RedirectRefused, match=r"files\.example.* redirects elsewhere: .*inside\.example"):
            fetch(tmp_path, f"http://files.example:{host.port}/first.zip", ["127.0.0.1"], allowed=names)
        assert private.asked == []


def test_a_name_that_changes_after_the_check_is_not_followed(tmp_path: Path, host: Host) -> None:
    """The connection goes to what was checked; a second look by the connection itself would find another host."""
    fetch(tmp_path, f"http://files.example:{host.port}/task.zip", ["127.0.0.1"], ["10.0.0.1"])
    assert len(host.asked) == 1


def test_a_name_that_changes_between_two_redirects_is_checked_again(tmp_path: Path, host: Host) -> None:
    host.answers["/first.zip"] = answer(302, b"", Location="/task.zip")
    refused(tmp_path, RedirectRefused, f"http://files.example:{host.port}/first.zip", ["127.0.0.1"], ["10.0.0.1"])
    assert [path for path, _ in host.asked] == ["/first.zip"]


def test_a_loop_of_redirects_ends(tmp_path: Path, host: Host) -> None:
    host.answers["/first.zip"] = answer(302, b"", Location="/first.zip")
    refused(tmp_path, RedirectRefused, f"http://files.example:{host.port}/first.zip")
    assert len(host.asked) == 6


def test_the_next_address_of_a_host_is_tried(tmp_path: Path, host: Host) -> None:
    fetch(tmp_path, f"http://files.example:{host.port}/task.zip", ["::1", "127.0.0.1"])
    assert len(host.asked) == 1


@pytest.mark.parametrize(
    ("status", "error"),
    [(status, ArchiveRefused) for status in (204, 206, 403, 404)]
    + [(status, ArchiveUnreachable) for status in (429, 503)],
)
def test_another_answer_than_the_archive_is_told_apart(
    tmp_path: Path, host: Host, status: int, error: type[OddishError]
) -> None:
    host.answers["/task.zip"] = answer(status, b"")
    assert str(status) in refused(tmp_path, error, f"http://files.example:{host.port}/task.zip").message


def test_an_archive_above_the_limit_is_not_fetched(tmp_path: Path, host: Host) -> None:
    host.answers["/stated.zip"] = answer(200, b"", Content_Length=str(LIMIT + 1))

    def unstated(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(bytes(LIMIT + 1))

    host.answers["/unstated.zip"] = unstated
    for path in ("/stated.zip", "/unstated.zip"):
        refused(tmp_path, ArchiveTooLarge, f"http://files.example:{host.port}{path}")


def test_a_compressed_answer_is_refused(tmp_path: Path, host: Host) -> None:
    host.answers["/task.zip"] = answer(200, CONTENT, Content_Encoding="gzip")
    refused(tmp_path, ArchiveRefused, f"http://files.example:{host.port}/task.zip")


def test_an_answer_that_breaks_off_leaves_nothing(tmp_path: Path, host: Host) -> None:
    host.answers["/task.zip"] = answer(200, CONTENT, Content_Length=str(len(CONTENT) + 1))
    refused(tmp_path, ArchiveUnreachable, f"http://files.example:{host.port}/task.zip")


def test_a_host_that_drips_is_given_up(tmp_path: Path, host: Host) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(1000):
                handler.wfile.write(b"x")
                handler.wfile.flush()
                time.sleep(0.01)

    host.answers["/task.zip"] = drip
    address = f"http://files.example:{host.port}/task.zip"
    error = refused(tmp_path, ArchiveUnreachable, address, patience_seconds=0.1)
    assert "bytes a second" in error.message


def test_a_slow_answer_is_given_up(tmp_path: Path, host: Host) -> None:
    def trickle(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(b"x")
        handler.wfile.flush()
        handler.rfile.read(1)  # until the caller is gone

    host.answers["/task.zip"] = trickle
    error = refused(tmp_path, ArchiveUnreachable, f"http://files.example:{host.port}/task.zip", total_seconds=0.3)
    assert "within 0.3 s" in error.message


def test_a_host_that_does_not_answer_is_said(tmp_path: Path) -> None:
    refused(tmp_path, ArchiveUnreachable, "http://files.example:9/task.zip")
