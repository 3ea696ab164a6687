"""Plain HTTP against a server of the standard library, on real sockets."""

import io
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from oddish.client.plain import PlainTransport

LARGE = 3_000_000


class Answers(BaseHTTPRequestHandler):
    """Says from which port it was asked, and misbehaves by name."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        match self.path:
            case "/silent":
                self.server.released.wait(5)  # type: ignore[attr-defined]
            case "/gone":
                self.close_connection = True
            case "/cut":
                self.answer(200, b"half", length=8, last=True)
            case "/chunked":
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.wfile.write(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
            case "/once":
                self.answer(200, self.port, last=True)
            case "/lying":
                self.answer(200, self.port)
                self.close_connection = True
            case _:
                self.answer(200, self.port)

    def do_PUT(self) -> None:
        if self.path == "/early":
            self.answer(413, b"too large", last=True)
            return
        size = int(self.headers["Content-Length"] or 0)
        self.answer(200, str(len(self.rfile.read(size))).encode())

    def do_POST(self) -> None:
        self.do_PUT()

    @property
    def port(self) -> bytes:
        return str(self.client_address[1]).encode()

    def answer(self, status: int, content: bytes, *, length: int | None = None, last: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.send_header("X-Twice", "a")
        self.send_header("X-Twice", "b")
        if last:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        server.released = threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.released.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


@pytest.fixture
def client() -> Iterator[httpx2.Client]:
    with httpx2.Client(transport=PlainTransport(), timeout=httpx2.Timeout(5, read=0.3)) as opened:
        yield opened


def test_a_connection_serves_many_requests_until_either_side_ends_it(url: str, client: httpx2.Client) -> None:
    ports = [client.get(f"{url}{path}").text for path in ("/", "/", "/once", "/", "/lying")]
    assert len(set(ports)) == 2
    assert ports[0] == ports[1] == ports[2] != ports[3] == ports[4]
    deadline = time.monotonic() + 5
    while client.get(url).text == ports[4]:
        assert time.monotonic() < deadline
    assert client.get(url, headers={"Connection": "close"}).headers.get_list("X-Twice") == ["a", "b"]


def test_threads_have_connections_of_their_own(url: str, client: httpx2.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.put(f"{url}/store", content=bytes(LARGE)).text, range(32)))
    assert answers == [str(LARGE)] * 32


def test_bodies_are_sent_and_read_however_they_are_framed(url: str, client: httpx2.Client) -> None:
    assert client.get(f"{url}/chunked").text == "abcde"
    assert client.post(url).text == "0"
    assert client.put(url, content=io.BytesIO(b"file")).text == "4"
    assert client.post(url, json={"a": 1}).text == "7"


def test_a_refusal_that_comes_while_the_body_is_sent_is_read(url: str, client: httpx2.Client) -> None:
    answer = client.put(f"{url}/early", content=bytes(10 * LARGE))
    assert (answer.status_code, answer.text, answer.reason_phrase) == (413, "too large", "Request Entity Too Large")


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/silent", httpx2.ReadTimeout),
        ("/gone", httpx2.RemoteProtocolError),
        ("/cut", httpx2.RemoteProtocolError),
    ],
)
def test_what_does_not_answer_is_an_error_of_the_right_kind(
    url: str, client: httpx2.Client, path: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        client.get(url + path)
    assert client.get(url).status_code == 200


def test_nobody_listens(client: httpx2.Client) -> None:
    with pytest.raises(httpx2.ConnectError, match="refused"):
        client.get("http://127.0.0.1:1/")


def test_a_header_that_cannot_be_sent_is_not_shown(url: str, client: httpx2.Client) -> None:
    with pytest.raises(httpx2.LocalProtocolError) as caught:
        client.get(url, headers={"Authorization": "Bearer ok_secret\n"})
    assert "ok_secret" not in str(caught.value)
