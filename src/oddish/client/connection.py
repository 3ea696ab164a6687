"""HTTP to one server: authentication, retries, and errors that say what to do."""

import json
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import IO, Protocol, cast
from urllib.request import getproxies

import httpx2

from oddish import __version__
from oddish.client.errors import JOB_GOES_ON, ApiError, UnexpectedAnswer, Unreachable
from oddish.client.pacing import Pace, for_calls, for_storage
from oddish.client.plain import PlainTransport
from oddish.client.retry import RetryPolicy
from oddish.client.types import JSON, Problem
from oddish.errors import InvalidInput, OddishError
from oddish.httpdates import http_date, retry_after
from oddish.tasks.characters import refuse_unstorable

type Params = Mapping[str, str | int | bool]

DEFAULT_TIMEOUT = httpx2.Timeout(30.0, connect=5.0)
UPLOAD_TIMEOUT = httpx2.Timeout(120.0, connect=10.0, read=300.0)
"""Of each piece that is sent and of the answer after the last one, not of the whole."""
CHECKED_UPLOAD_TIMEOUT = httpx2.Timeout(120.0, connect=10.0, read=1800.0)
"""The same where the server reads all of it, of tens of thousands of files, before it answers."""
DOWNLOAD_TIMEOUT = httpx2.Timeout(60.0, connect=10.0)
"""Of each piece that arrives, not of the whole."""
STREAM_TIMEOUT = httpx2.Timeout(45.0, connect=5.0)
"""Between two pieces; a server that has nothing to say says so every 15 seconds."""
EXAMINATION_TIMEOUT = httpx2.Timeout(300.0, connect=5.0)
"""Of a call for which the server reads a whole archive."""
IN_PROGRESS = "idempotency_key_in_progress"
SUBMIT_CONCURRENCY = "Oddish-Submit-Concurrency"
"""Header of answers to submissions: how many the server likes to have under way of one client."""
OVERRUN = frozenset({408, 429, 502, 503, 504})
CLOCK_TOLERANCE = timedelta(seconds=2)
CLOCK_NONSENSE = timedelta(days=365_000)
"""A clock that far away is none, and leaves no room to count on."""
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-")
_SMALL = re.compile("[0-9]{1,4}")
_CALL = re.compile(r"\A[A-Z]+ /\S* needs(?= )")
SHOWN_CHARACTERS = 100
WORTH_MENTIONING = 1.0
"""Seconds of waiting from which on it is said."""


class Sink(Protocol):
    """Where the bytes of a download go."""

    @property
    def size(self) -> int:
        """How many there are already."""

    def write(self, chunk: bytes) -> None: ...

    def restart(self) -> None:
        """Forget them all."""


class Connection:
    """One server and one key. Safe to share between threads."""

    def __init__(
        self,
        base_url: str,
        key: str | None,
        *,
        transport: httpx2.BaseTransport | None = None,
        timeout: httpx2.Timeout | float | None = None,
        retry: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
        waiting: Callable[[str, float], None] = lambda reason, seconds: None,
    ) -> None:
        self.base_url = _server_url(base_url)
        self._origin = _origin(httpx2.URL(self.base_url))
        self._retry = retry or RetryPolicy()
        self._sleep = sleep
        self._waiting = waiting
        self._met = False
        self._authorization = {"Authorization": f"Bearer {key}"} if key else {}
        headers = {"User-Agent": f"oddish/{__version__}", "Accept": "application/json"}
        self._transport = transport
        self._http = httpx2.Client(
            headers=headers, timeout=timeout or DEFAULT_TIMEOUT, transport=transport or _plain_transport(self.base_url)
        )
        self._storage: httpx2.Client | None = None
        self.calls_pace = for_calls()
        self.storage_pace = for_storage()
        self._ahead = timedelta()

    def server_time(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def close(self) -> None:
        self._http.close()
        if self._storage is not None:
            self._storage.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        params: Params | None = None,
        headers: Mapping[str, str] | None = None,
        once: bool = False,
        idempotency_key: str | None = None,
        repeatable: bool = False,
        patient: bool = False,
        seconds: float | None = None,
        success: Collection[int] = (200,),
    ) -> JSON:
        """The JSON of a successful answer. Reads, ``repeatable`` calls and calls with a key survive passing trouble.

        ``once`` draws a key where none is given, so that a repetition after a lost answer does nothing twice. The
        answer to a ``patient`` call may take minutes, or as many ``seconds``.
        """
        refuse_unstorable(body)
        sent = {**(headers or {}), **self._authorization}
        if once:
            idempotency_key = idempotency_key or secrets.token_hex(16)
        if idempotency_key is not None:
            sent["Idempotency-Key"] = idempotency_key
        request = self._http.build_request(
            method,
            f"{self.base_url}{path}",
            json=body,
            params=dict(params) if params else None,
            headers=sent,
            timeout=self._timeout(patient=patient, seconds=seconds),
        )
        may_repeat = repeatable or method == "GET" or idempotency_key is not None
        response, _ = self._send(self._http, lambda: request, self.calls_pace, may_repeat=may_repeat)
        if response.status_code not in success:
            raise _refusal(response)
        return self._json(response)

    def _timeout(self, *, patient: bool, seconds: float | None) -> httpx2.Timeout:
        if seconds is not None:
            return httpx2.Timeout(seconds, connect=EXAMINATION_TIMEOUT.connect)
        return EXAMINATION_TIMEOUT if patient else self._http.timeout

    def _json(self, response: httpx2.Response) -> JSON:
        try:
            return cast("JSON", response.json())
        except (ValueError, RecursionError) as error:
            asked = response.request
            raise UnexpectedAnswer(
                f"{self.base_url} answered {asked.method} {asked.url.path} with something other than JSON.",
                fix="Check that the address is that of an oddish server, without a page or proxy in front of it.",
            ) from error

    def send_file(self, path: str, file: IO[bytes], content_type: str) -> JSON:
        """PUT a file to the server itself, which reads all of it before it answers; may be repeated."""
        headers = {**self._authorization, "Content-Type": content_type}

        def request() -> httpx2.Request:
            file.seek(0)
            url = f"{self.base_url}{path}"
            return self._http.build_request("PUT", url, content=file, headers=headers, timeout=CHECKED_UPLOAD_TIMEOUT)

        response, _ = self._send(self._http, request, self.storage_pace, may_repeat=True)
        if not response.is_success:
            raise _refusal(response)
        return self._json(response)

    def put_file(self, url: str, file: IO[bytes], headers: Mapping[str, str]) -> None:
        """Send a file to a signed URL, which carries its own authority and must not see the key."""
        target = self._target(url)

        def request() -> httpx2.Request:
            file.seek(0)
            return client.build_request("PUT", target, content=file, headers=dict(headers), timeout=UPLOAD_TIMEOUT)

        client = self._client_for(target)
        response, attempts = self._send(client, request, self.storage_pace, may_repeat=True)
        already_stored = attempts > 1 and response.status_code in (409, 412)
        if not (response.is_success or already_stored):
            raise _refusal(response)

    def download(self, url: str, sink: Sink, *, signed: bool) -> None:
        """The bytes of a file, from where ``sink`` stands; after a lost connection it goes on where it was.

        A ``signed`` URL carries its own authority and must not see the key. What ``sink`` raises passes.
        """
        target = self._target(url)
        client = self._client_for(target)
        own = {} if signed or _origin(target) != self._origin else self._authorization
        attempt = 0
        while True:
            attempt += 1
            stood = sink.size
            headers = {**own, "Accept": "*/*", "Accept-Encoding": "identity"}
            if stood:
                headers["Range"] = f"bytes={stood}-"
            asked_to_wait = None
            try:
                with client.stream("GET", target, headers=headers, timeout=DOWNLOAD_TIMEOUT) as response:
                    if response.status_code in (200, 206):
                        _receive(response, sink)
                        return
                    response.read()
            except httpx2.RequestError as error:
                trouble: OddishError = self._unreachable(error)
                attempt = 1 if sink.size > stood else attempt
            else:
                trouble = _refusal(response)
                asked_to_wait = retry_after(response.headers)
                if not _worth_repeating(response):
                    raise trouble
            if attempt >= self._retry.attempts:
                raise trouble
            self.pause(trouble.message, attempt, asked_to_wait)

    @contextmanager
    def stream(self, path: str, *, accept: str, headers: Mapping[str, str]) -> Iterator[Iterator[bytes]]:
        """The pieces of an answer of the media type ``accept`` as they come. Nothing is tried again here."""
        sent = {**self._authorization, "Accept": accept, "Accept-Encoding": "identity", **headers}
        try:
            with self._http.stream("GET", f"{self.base_url}{path}", headers=sent, timeout=STREAM_TIMEOUT) as response:
                if response.status_code != 200:
                    response.read()
                    raise _refusal(response)
                self._meet(response)
                if not response.headers.get("content-type", "").startswith(accept):
                    raise UnexpectedAnswer(
                        f"{self.base_url} answered GET {path.partition('?')[0]} with something other than {accept}.",
                        fix="Check that the address is that of an oddish server, and that its version fits this one.",
                    )
                yield response.iter_bytes()
        except httpx2.RequestError as error:
            raise self._unreachable(error) from error

    def patience(self, *, met: bool) -> int:
        """How many attempts a call is worth, ``met`` or not by an answer before."""
        return self._retry.reconnects if met else self._retry.attempts

    def pause(self, reason: str, attempt: int, asked_to_wait: float | None = None) -> None:
        """Wait before the attempt after ``attempt``, and say so where that takes more than a moment."""
        seconds = self._retry.delay(attempt, asked_to_wait)
        if seconds >= WORTH_MENTIONING:
            self._waiting(reason, seconds)
        self._sleep(seconds)

    def _target(self, url: str) -> httpx2.URL:
        """An address that the server named, relative to its own."""
        try:
            return httpx2.URL(f"{self.base_url}/").join(url)
        except (httpx2.InvalidURL, TypeError, ValueError):
            raise UnexpectedAnswer(
                f"{self.base_url} names an address that is none: {str(url)[:SHOWN_CHARACTERS]!r}.",
                fix="Check that the address is that of an oddish server.",
            ) from None

    def _client_for(self, url: httpx2.URL) -> httpx2.Client:
        if self._transport is not None or _origin(url) == self._origin:
            return self._http
        if self._storage is None:
            self._storage = httpx2.Client()
        return self._storage

    def _send(
        self, client: httpx2.Client, request: Callable[[], httpx2.Request], pace: Pace, *, may_repeat: bool
    ) -> tuple[httpx2.Response, int]:
        """The last answer and the number of attempts it took."""
        attempt = 0
        while True:
            attempt += 1
            asked_to_wait = None
            try:
                response = self._paced(client, request, pace)
            except httpx2.UnsupportedProtocol as error:
                raise InvalidInput(f"{self.base_url!r} is no http or https address.") from error
            except httpx2.RequestError as error:
                trouble = self._unreachable(error)
                comes_back = self._met and isinstance(error, httpx2.ConnectError)
                if not may_repeat or attempt >= self.patience(met=comes_back):
                    raise trouble from error
                reason = trouble.message
            else:
                self._meet(response)
                if not (may_repeat and _worth_repeating(response)) or attempt >= self._retry.attempts:
                    return response, attempt
                asked_to_wait = retry_after(response.headers)
                reason = _refusal(response).message
            self.pause(reason, attempt, asked_to_wait)

    def _paced(self, client: httpx2.Client, request: Callable[[], httpx2.Request], pace: Pace) -> httpx2.Response:
        with pace.turn() as turn:
            try:
                response = client.send(request())
            except httpx2.RequestError:
                turn.was_too_much()
                raise
            if response.status_code in OVERRUN:
                turn.was_too_much()
            else:
                turn.went_well()
        return response

    def _meet(self, response: httpx2.Response) -> None:
        """Something answers at the address; it may have told the time, in whole seconds, and its limits."""
        self._met = True
        if _origin(response.request.url) != self._origin:
            return
        if _SMALL.fullmatch(liked := response.headers.get(SUBMIT_CONCURRENCY, "")):
            self.calls_pace.cap(int(liked))
        if (told := http_date(response.headers.get("date"))) is not None:
            ahead = told - datetime.now(UTC)
            self._ahead = ahead if CLOCK_TOLERANCE < abs(ahead) < CLOCK_NONSENSE else timedelta()

    def _unreachable(self, error: httpx2.RequestError) -> Unreachable:
        asked = _origin(error.request.url)
        reason = str(error) or type(error).__name__
        if isinstance(error, httpx2.TimeoutException):
            reason = f"no answer in time ({type(error).__name__})"
        if asked != self._origin:
            return Unreachable(
                f"The storage at {asked} that the server named cannot be reached: {reason}.",
                fix="Check that this machine can reach it, then run the command again.",
            )
        return Unreachable(
            f"The server at {self.base_url} cannot be reached: {reason}.",
            fix="Check that it runs, and the address if one was given with --api or ODDISH_API_URL.",
        )


def _receive(response: httpx2.Response, sink: Sink) -> None:
    """Hand what arrives to ``sink``, from its beginning unless it is what comes next."""
    start = _CONTENT_RANGE.match(response.headers.get("content-range", ""))
    if response.status_code == 200:
        sink.restart()
    elif start is None or int(start[1]) != sink.size:
        raise UnexpectedAnswer(f"{response.request.url.path} was answered with another part of it than was asked for.")
    for chunk in response.iter_bytes():
        sink.write(chunk)


def _origin(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def _server_url(url: str) -> str:
    try:
        parsed = httpx2.URL(url.strip())
    except httpx2.InvalidURL as error:
        raise InvalidInput(f"{url!r} is no server address: {error}.", fix=_ADDRESS_FIX) from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidInput(f"{url!r} is no server address.", fix=_ADDRESS_FIX)
    if parsed.userinfo:
        raise InvalidInput("The server address carries a user name or password.", fix="Put the key in ODDISH_API_KEY.")
    return str(parsed).rstrip("/")


_ADDRESS_FIX = "It starts with http:// or https:// and names a host, for example https://oddish.example.com."


def _plain_transport(url: str) -> httpx2.BaseTransport | None:
    """For plain HTTP, where that of httpx2 would take longer to load than most commands to run."""
    parsed = httpx2.URL(url)
    proxied = {"http", "all"} & getproxies().keys() and parsed.host not in ("127.0.0.1", "localhost", "::1")
    if parsed.scheme != "http" or proxied:
        return None
    return PlainTransport()


def _refusal(response: httpx2.Response) -> ApiError:
    status = response.status_code
    try:
        document = json.loads(response.content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        document = {}
    problem = cast("Problem", {name: value for name, value in document.items() if value is not None})
    if not isinstance(problem.get("detail"), str):
        problem["detail"] = _detail(document.get("detail")) or (
            f"{response.request.method} {response.request.url.path} was answered with "
            f"{status} {response.reason_phrase}".rstrip()
            + "."
        )
    if status == 403:
        problem["detail"] = _CALL.sub("This needs", problem["detail"])
    if (status == 401 or not problem.get("fix")) and (fix := _fix(response)):
        problem["fix"] = fix
    return ApiError(problem, status)


def _worth_repeating(response: httpx2.Response) -> bool:
    """Also what is refused because an earlier attempt, whose connection was lost, is still under way; what goes on is
    asked for elsewhere."""
    if response.status_code == 409:
        return _refusal(response).problem_code == IN_PROGRESS
    if response.status_code == 504 and _refusal(response).problem_code == JOB_GOES_ON:
        return False
    return RetryPolicy.worth_repeating(response.status_code)


def _fix(response: httpx2.Response) -> str | None:
    """What to do about an answer that does not say so itself, or says it to those who write requests."""
    if response.status_code == 401:
        return "Check the key in ODDISH_API_KEY."
    if (there := response.next_request) is not None:
        address = there.url.copy_with(raw_path=b"/")
        return f"It leads to {str(address).rstrip('/')}: give that address, if it is the server's."
    if "html" in response.headers.get("content-type", ""):
        return "The answer is a page, not JSON: check the address, and what stands between here and the server."
    return None


def _detail(detail: object) -> str | None:
    """The text in a ``detail`` of another shape: ``{"message": ...}`` or a list of validation errors."""
    if isinstance(detail, dict) and isinstance(detail.get("message"), str):
        return cast("str", detail["message"])
    if isinstance(detail, list):
        parts = [
            f"{'.'.join(map(str, place if isinstance(place := item.get('loc'), list) else [place]))}: {item.get('msg')}"
            for item in detail
            if isinstance(item, dict)
        ]
        return "; ".join(parts) or None
    return None
