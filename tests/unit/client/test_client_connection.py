import io
import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest

from oddish.client.connection import Connection
from oddish.client.errors import ApiError, UnexpectedAnswer, Unreachable
from oddish.client.retry import RetryPolicy
from oddish.errors import InvalidInput

type Answer = httpx2.Response | Exception


class Server:
    """Gives the prepared answers in order, the last one for ever, and remembers the requests."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[httpx2.Request] = []
        self.bodies: list[bytes] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        self.bodies.append(request.read())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def connection(self, url: str = "http://server.test", **options: object) -> Connection:
        return Connection(url, "ok_secret", transport=httpx2.MockTransport(self), sleep=self.pauses.append, **options)  # type: ignore[arg-type]


def ok(body: object = "done") -> httpx2.Response:
    return httpx2.Response(200, json=body)


REFUSED = httpx2.ConnectError("refused")


def test_a_call_carries_the_key_and_returns_the_json() -> None:
    server = Server(ok({"answer": 42}))
    assert server.connection().call("GET", "/health") == {"answer": 42}
    assert server.requests[0].headers["authorization"] == "Bearer ok_secret"


@pytest.mark.parametrize("status", [201, 202, 204, 302])
def test_success_is_exactly_200(status: int) -> None:
    with pytest.raises(ApiError) as caught:
        Server(httpx2.Response(status, json={})).connection().call("GET", "/health")
    assert caught.value.http_status == status


@pytest.mark.parametrize("failure", [httpx2.Response(503), httpx2.Response(429), REFUSED, httpx2.ReadTimeout("slow")])
def test_reads_survive_passing_trouble(failure: Answer) -> None:
    server = Server(failure, failure, ok("fine"))
    assert server.connection().call("GET", "/health") == "fine"
    assert len(server.pauses) == 2
    assert server.pauses[0] < server.pauses[1] * 2


def test_a_server_that_has_answered_is_given_half_a_minute_to_come_back() -> None:
    server = Server(ok(), REFUSED)
    connection = server.connection(waiting=lambda reason, seconds: told.append((reason, seconds)))
    told: list[tuple[str, float]] = []
    connection.call("GET", "/health")
    with pytest.raises(Unreachable):
        connection.call("GET", "/health")
    assert len(server.pauses) == RetryPolicy().reconnects - 1
    assert 16 <= sum(server.pauses) <= 32
    assert [seconds for _, seconds in told] == [pause for pause in server.pauses if pause >= 1]
    assert {reason for reason, _ in told} == {"The server at http://server.test cannot be reached: refused."}


def test_a_server_that_never_answered_is_given_up_sooner() -> None:
    server = Server(REFUSED)
    with pytest.raises(Unreachable):
        server.connection().call("GET", "/health")
    assert len(server.pauses) == RetryPolicy().attempts - 1


@pytest.mark.parametrize("failure", [httpx2.ReadTimeout("slow"), httpx2.ReadError("cut"), httpx2.Response(502)])
def test_a_server_that_fails_while_it_is_there_is_given_up_as_soon(failure: Answer) -> None:
    server = Server(ok(), failure)
    connection = server.connection()
    connection.call("GET", "/health")
    with pytest.raises((Unreachable, ApiError)):
        connection.call("GET", "/health")
    assert len(server.pauses) == RetryPolicy().attempts - 1


def test_retry_after_is_honoured() -> None:
    server = Server(httpx2.Response(429, headers={"Retry-After": "3"}), ok())
    server.connection().call("GET", "/health")
    assert server.pauses[0] >= 3


def test_a_wait_is_told_with_what_the_server_said() -> None:
    told: list[str] = []
    problem = {"detail": "The database does not answer in time."}
    server = Server(httpx2.Response(503, headers={"Retry-After": "2"}, json=problem), ok())
    server.connection(waiting=lambda reason, _: told.append(reason)).call("GET", "/health")
    assert told == ["The database does not answer in time."]


@pytest.mark.parametrize("status", [400, 401, 404, 409, 422, 507])
def test_refusals_are_not_repeated(status: int) -> None:
    server = Server(httpx2.Response(status, json={"detail": "no"}))
    with pytest.raises(ApiError):
        server.connection().call("GET", "/health")
    assert len(server.requests) == 1


def test_a_write_without_a_key_is_sent_once() -> None:
    server = Server(httpx2.Response(503))
    with pytest.raises(ApiError):
        server.connection().call("POST", "/things", body={})
    assert len(server.requests) == 1


def test_a_write_with_a_key_is_repeated_under_the_same_key() -> None:
    server = Server(httpx2.ReadTimeout("lost"), httpx2.Response(500), ok())
    server.connection().call("POST", "/things", body={"a": 1}, idempotency_key="once")
    assert [request.headers["idempotency-key"] for request in server.requests] == ["once"] * 3
    assert server.bodies == [b'{"a":1}'] * 3


def test_a_repetition_that_meets_its_first_attempt_waits_for_it() -> None:
    busy = httpx2.Response(409, json={"detail": "Under way.", "code": "idempotency_key_in_progress"})
    server = Server(httpx2.ReadError("cut"), busy, ok("stored"))
    assert server.connection().call("POST", "/things", body={}, idempotency_key="once") == "stored"
    assert len(server.pauses) == 2


def test_an_absent_server_is_named_with_the_reason_and_the_fix() -> None:
    with pytest.raises(Unreachable) as caught:
        Server(REFUSED).connection(retry=RetryPolicy(attempts=2)).call("GET", "/health")
    assert caught.value.message == "The server at http://server.test cannot be reached: refused."
    assert "ODDISH_API_URL" in str(caught.value.fix)


def test_a_problem_document_is_kept() -> None:
    problem = {
        "title": "Bad",
        "status": 422,
        "detail": "Agent 'x' is unknown.",
        "code": "unknown_agent",
        "fix": "Use y.",
    }
    with pytest.raises(ApiError) as caught:
        Server(httpx2.Response(422, json=problem)).connection().call("POST", "/tasks/sweep", body={})
    error = caught.value
    assert (error.message, error.fix) == ("Agent 'x' is unknown.", "Use y.")
    assert (error.problem_code, error.http_status) == ("unknown_agent", 422)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"detail": {"message": "over budget", "used_usd": 3}}, "over budget"),
        ({"detail": [{"loc": ["body", "configs"], "msg": "too few"}]}, "body.configs: too few"),
        ({"detail": [5, {"loc": 7, "msg": "too few"}]}, "7: too few"),
        ({}, "GET /health was answered with 400 Bad Request."),
        (["odd"], "GET /health was answered with 400 Bad Request."),
    ],
)
def test_other_error_bodies_are_understood(body: object, expected: str) -> None:
    with pytest.raises(ApiError) as caught:
        Server(httpx2.Response(400, json=body)).connection().call("GET", "/health")
    assert caught.value.message == expected


@pytest.mark.parametrize("status", [200, 400])
def test_json_that_is_nested_without_end_is_reported(status: int) -> None:
    with pytest.raises((UnexpectedAnswer, ApiError), match=r"answered (GET|with)"):
        Server(httpx2.Response(status, content=b"[" * 100_000)).connection().call("GET", "/health")


def test_a_page_instead_of_json_is_reported() -> None:
    with pytest.raises(UnexpectedAnswer, match="something other than JSON"):
        Server(httpx2.Response(200, text="<html>")).connection().call("GET", "/health")


@pytest.mark.parametrize("url", ["", "server.test", "ftp://server.test", "http://", "http://user:pass@server.test"])
def test_an_address_that_cannot_be_one(url: str) -> None:
    with pytest.raises(InvalidInput):
        Connection(url, None)


@pytest.mark.parametrize("url", ["/blobs/1?sig=s", "http://server.test/blobs/1?sig=s", "https://store.test/1?sig=s"])
def test_a_signed_upload_does_not_see_the_key(url: str) -> None:
    server = Server(httpx2.Response(200))
    server.connection().put_file(url, io.BytesIO(b"data"), {"Content-Type": "application/gzip", "X-Any": "1"})
    request = server.requests[0]
    assert "authorization" not in request.headers
    assert (request.headers["content-type"], request.headers["x-any"]) == ("application/gzip", "1")
    assert request.headers["content-length"] == "4"
    assert str(request.url).endswith(url)


def test_an_upload_is_repeated_from_the_start() -> None:
    server = Server(httpx2.Response(503), REFUSED, httpx2.Response(200))
    server.connection().put_file("/blob", io.BytesIO(b"data"), {})
    assert server.bodies == [b"data"] * 3


def test_a_repeated_upload_that_finds_itself_stored_is_done() -> None:
    Server(httpx2.ReadTimeout("lost"), httpx2.Response(409)).connection().put_file("/blob", io.BytesIO(b"data"), {})


def test_a_first_upload_that_finds_something_stored_is_refused() -> None:
    with pytest.raises(ApiError):
        Server(httpx2.Response(409)).connection().put_file("/blob", io.BytesIO(b"data"), {})


def test_an_unreachable_storage_is_named_without_the_signature() -> None:
    with pytest.raises(Unreachable) as caught:
        Server(REFUSED).connection().put_file("https://store.test/1?sig=hush", io.BytesIO(b""), {})
    assert "store.test" in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("store", ["http://server.test:9000", "https://server.test", "http://[::1]:9000"])
def test_a_storage_on_the_machine_of_the_server_is_not_taken_for_the_server(store: str) -> None:
    with pytest.raises(Unreachable) as caught:
        Server(REFUSED).connection().put_file(f"{store}/1", io.BytesIO(b""), {})
    assert caught.value.message.startswith(f"The storage at {store} that the server named cannot be")


def test_a_server_is_named_whose_own_storage_cannot_be_reached() -> None:
    with pytest.raises(Unreachable) as caught:
        Server(REFUSED).connection("http://server.test:80").put_file("/blob", io.BytesIO(b""), {})
    assert caught.value.message == "The server at http://server.test cannot be reached: refused."


@pytest.fixture
def trust_store_loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    import httpcore2

    loads: list[str] = []
    original: Callable[..., ssl.SSLContext] = httpcore2.default_ssl_context

    def load(**options: bool) -> ssl.SSLContext:
        loads.append("loaded")
        return original(**options)

    monkeypatch.setattr(httpcore2, "default_ssl_context", load)
    return loads


def test_plain_http_loads_no_trust_store(trust_store_loads: list[str]) -> None:
    Connection("http://127.0.0.1:1", None).close()
    assert trust_store_loads == []


def test_https_does(trust_store_loads: list[str]) -> None:
    Connection("https://127.0.0.1:1", None).close()
    assert trust_store_loads


@pytest.mark.parametrize("hours", [-3, 0, 5])
def test_the_time_is_that_of_the_server(hours: int) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=hours), usegmt=True)
    connection = Server(httpx2.Response(200, json={}, headers={"Date": date})).connection()
    connection.call("GET", "/health")
    assert abs(connection.server_time() - datetime.now(UTC) - timedelta(hours=hours)) < timedelta(seconds=2)


@pytest.mark.parametrize(
    "date",
    [
        "",
        "yesterday",
        "Thu, 99 Jan 2026 00:00:00 GMT",
        "Thu, 01 Jan 99999 00:00:00 GMT",
        "Thu, 01 Jan 99999999999 00:00:00 GMT",
        "Thu, 01 Jan 2026 00:00:00 +99999999999999",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ],
)
def test_a_date_that_is_none_leaves_the_time_of_this_machine(date: str) -> None:
    connection = Server(httpx2.Response(200, json={}, headers={"Date": date})).connection()
    connection.call("GET", "/health")
    assert abs(connection.server_time() - datetime.now(UTC)) < timedelta(seconds=2)


def test_a_redirect_names_where_it_leads() -> None:
    answer = httpx2.Response(302, headers={"Location": "https://login.example.com/start?next=%2F"})
    with pytest.raises(ApiError) as caught:
        Server(answer).connection().call("GET", "/health")
    assert caught.value.message == "GET /health was answered with 302 Found."
    assert caught.value.fix == "It leads to https://login.example.com: give that address, if it is the server's."


def test_refusals_of_a_key_speak_of_the_variable_that_holds_it_not_of_headers_and_routes() -> None:
    header = {"detail": "The API key is not known here.", "fix": "Send a valid key as `Authorization: Bearer ok_...`."}
    with pytest.raises(ApiError) as caught:
        Server(httpx2.Response(401, json=header)).connection().call("GET", "/tasks")
    assert (caught.value.message, caught.value.fix) == (header["detail"], "Check the key in ODDISH_API_KEY.")
    route = {"detail": "POST /api-keys needs a key of scope 'full'; this one has 'tasks'.", "fix": "Use another."}
    with pytest.raises(ApiError) as caught:
        Server(httpx2.Response(403, json=route)).connection().call("POST", "/api-keys", body={})
    assert caught.value.message == "This needs a key of scope 'full'; this one has 'tasks'."
    assert caught.value.fix == "Use another."


def test_a_page_that_refuses_is_shown_by_its_status() -> None:
    page = httpx2.Response(403, text="<html><h1>Blocked</h1></html>", headers={"Content-Type": "text/html"})
    with pytest.raises(ApiError) as caught:
        Server(page).connection().call("POST", "/tasks/sweep", body={})
    assert caught.value.message == "POST /tasks/sweep was answered with 403 Forbidden."
    assert "is a page, not JSON" in str(caught.value.fix)


class Received:
    """A sink in memory."""

    def __init__(self) -> None:
        self.content = b""
        self.restarts = 0

    @property
    def size(self) -> int:
        return len(self.content)

    def write(self, chunk: bytes) -> None:
        self.content += chunk

    def restart(self) -> None:
        self.content = b""
        self.restarts += 1


class Breaking(httpx2.SyncByteStream):
    """A body whose connection is lost."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __iter__(self) -> Iterator[bytes]:
        yield self._content
        raise httpx2.ReadError("lost")


def part(content: bytes, start: int) -> httpx2.Response:
    return httpx2.Response(206, content=content, headers={"Content-Range": f"bytes {start}-9/10"})


def test_a_download_goes_on_where_the_connection_was_lost() -> None:
    broken = httpx2.Response(200, stream=Breaking(b"0123"))
    server = Server(broken, httpx2.Response(503), REFUSED, part(b"456789", 4))
    received = Received()
    server.connection().download("/store/a?signature=1", received, signed=True)
    assert received.content == b"0123456789"
    assert [request.headers.get("range") for request in server.requests] == [None, *["bytes=4-"] * 3]
    assert {request.headers.get("authorization") for request in server.requests} == {None}
    assert {request.headers["accept-encoding"] for request in server.requests} == {"identity"}


def test_a_server_that_knows_no_parts_sends_all_of_it_again() -> None:
    received = Received()
    received.content = b"0123"
    server = Server(httpx2.Response(200, content=b"0123456789"))
    server.connection().download("/trials/t/files/a", received, signed=False)
    assert (received.content, received.restarts) == (b"0123456789", 1)
    assert server.requests[0].headers["authorization"] == "Bearer ok_secret"
    received.content = b"0123"
    with pytest.raises(UnexpectedAnswer):
        Server(part(b"56789", 5)).connection().download("/trials/t/files/a", received, signed=False)


def test_a_download_that_gets_nowhere_is_given_up() -> None:
    server = Server(*(httpx2.Response(200, stream=Breaking(b"")) for _ in range(RetryPolicy().attempts)))
    with pytest.raises(Unreachable):
        server.connection().download("/trials/t/files/a", Received(), signed=False)
    assert len(server.pauses) == RetryPolicy().attempts - 1
    for refusal in (404, 403):
        with pytest.raises(ApiError):
            Server(httpx2.Response(refusal)).connection().download("/trials/t/files/a", Received(), signed=False)


@pytest.mark.parametrize("url", ["//\0", "http://\ud800/", "x" * 70_000])
def test_an_address_that_is_none_is_an_unexpected_answer(url: str) -> None:
    with pytest.raises(UnexpectedAnswer, match="names an address that is none"):
        Server().connection().download(url, Received(), signed=True)
