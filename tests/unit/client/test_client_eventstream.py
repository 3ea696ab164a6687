"""Event streams: read however they are cut, and taken up again where they were lost."""

import itertools
from collections.abc import Iterator

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.client.connection import Connection
from oddish.client.errors import ApiError, UnexpectedAnswer, Unreachable
from oddish.client.eventstream import MAX_BYTES, Message, follow, messages
from oddish.client.retry import RetryPolicy

STREAM = (
    'retry: 1000\n\nid: 1:1\ndata: {"ü": "…"}\n\n: \n\nevent: state\ndata: a\ndata:b\n\nevent: end\r\ndata: {}\r\n\r\n'
)
READ = [Message('{"ü": "…"}', id="1:1"), Message("a\nb", event="state"), Message("{}", event="end")]


@given(st.sets(st.integers(1, len(STREAM.encode()) - 1)))
def test_messages_are_the_same_however_the_stream_is_cut(cuts: set[int]) -> None:
    data = STREAM.encode()
    edges = [0, *sorted(cuts), len(data)]
    assert list(messages(data[start:end] for start, end in itertools.pairwise(edges))) == READ


def test_signs_of_life_that_tell_nothing_are_told_of() -> None:
    said = list[str]()
    for message in messages([STREAM.encode()], lambda: said.append("quiet")):
        said.append(message.event)
    assert said == ["quiet", "message", "quiet", "state", "end"]


def test_an_event_without_end_is_refused() -> None:
    with pytest.raises(UnexpectedAnswer, match="longer than"):
        list(messages(b"x" * (MAX_BYTES // 2) for _ in range(3)))


class Server:
    """Answers with what was prepared, in order; what is an error is raised in the middle of the answer."""

    def __init__(self, *answers: str | int | Exception) -> None:
        self.answers = list(answers)
        self.places: list[str | None] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        assert request.headers["accept"] == "text/event-stream"
        self.places.append(request.headers.get("last-event-id"))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            return httpx2.Response(answer, json={"detail": "No.", "code": "no"})
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Cut(answer))

    def follow(self) -> list[str]:
        connection = Connection(
            "http://server.test",
            "ok_secret",
            transport=httpx2.MockTransport(self),
            retry=RetryPolicy(attempts=2, reconnects=4),
            sleep=self.pauses.append,
        )
        return [message.data for message in follow(connection, "/path")]


class _Cut(httpx2.SyncByteStream):
    def __init__(self, text: str) -> None:
        self._text, _, self._lost = text.partition("LOST")

    def __iter__(self) -> Iterator[bytes]:
        yield self._text.encode()
        if self._lost:
            raise httpx2.ReadError("reset")


END = "event: end\ndata: {}\n\n"


def test_a_lost_stream_is_taken_up_after_the_last_place() -> None:
    server = Server(
        "id: 1:1\ndata: a\n\ndata: state\n\nid: 1:2\nda" + "LOST!",
        httpx2.ConnectError("refused"),
        503,
        "id: 1:2\ndata: b\n\n",
        END,
    )
    assert server.follow() == ["a", "state", "b"]
    assert server.places == [None, "1:1", "1:1", "1:1", "1:2"]
    assert len(server.pauses) == 4


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([404], ApiError),
        (["data: a\n\n", 404], ApiError),
        ([httpx2.ConnectError("refused")] * 2, Unreachable),
        (["data: a\n\nLOST!", *[httpx2.ConnectError("refused")] * 3], Unreachable),
        ([503, 503], ApiError),
        (["", ""], Unreachable),
    ],
)
def test_what_does_not_come_back_is_an_error(answers: list[str | int | Exception], error: type[Exception]) -> None:
    server = Server(*answers)
    with pytest.raises(error):
        server.follow()
    assert server.answers == []


def test_an_answer_that_is_no_stream_is_refused() -> None:
    page = httpx2.MockTransport(lambda _: httpx2.Response(200, json={}))
    with pytest.raises(UnexpectedAnswer, match="something other than text/event-stream"):
        list(follow(Connection("http://server.test", None, transport=page), "/path?query"))
