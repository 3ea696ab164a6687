"""Answers that go on: events as the server has them, through lost connections (WHATWG HTML, section 9.2)."""

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oddish.client.errors import ApiError, UnexpectedAnswer, Unreachable
from oddish.client.retry import RetryPolicy
from oddish.errors import OddishError

if TYPE_CHECKING:
    from oddish.client.connection import Connection

MEDIA_TYPE = "text/event-stream"
END = "end"
"""The event after which nothing comes."""
MAX_BYTES = 4 * 1024 * 1024
"""Of one event; no server of ours sends more."""
_BLANK = re.compile(rb"\r?\n\r?\n")
_LINE_END = re.compile(r"\r?\n")


@dataclass(frozen=True)
class Message:
    data: str
    event: str = "message"
    id: str | None = None
    """What a reader that has come this far says when it comes again; None: it stays what it was."""


def messages(pieces: Iterable[bytes], quiet: Callable[[], None] | None = None) -> Iterator[Message]:
    """The messages in the bytes of a stream, however they are cut. Raises ``UnexpectedAnswer`` for one without end.

    ``quiet`` is called for each sign of life that tells nothing.
    """
    rest = b""
    for piece in pieces:
        *blocks, rest = _BLANK.split(rest + piece)
        for block in blocks:
            if (message := _message(block.decode(errors="replace"))) is not None:
                yield message
            elif quiet is not None:
                quiet()
        if len(rest) > MAX_BYTES:
            raise UnexpectedAnswer(f"An event of the server is longer than {MAX_BYTES} bytes.")


def _message(block: str) -> Message | None:
    """None for a comment, and for whatever else has no data."""
    data, event, place = list[str](), "message", None
    for line in _LINE_END.split(block):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                data.append(value)
            case "event":
                event = value
            case "id":
                place = value
    return Message("\n".join(data), event, place) if data else None


def follow(connection: "Connection", path: str, quiet: Callable[[], None] | None = None) -> Generator[Message]:
    """The messages of ``path`` until its ``END``; ``quiet`` is called for each sign of life that tells nothing.

    A connection that is lost is taken up again after the last message that had an id, as often as the connection
    allows of a server that has answered before. Raises ``ApiError``, ``Unreachable``, ``UnexpectedAnswer``.
    """
    last: str | None = None
    failures, met = 0, False
    while True:
        try:
            with connection.stream(path, accept=MEDIA_TYPE, headers={"Last-Event-ID": last} if last else {}) as pieces:
                for message in messages(pieces, quiet):
                    failures, met = 0, True
                    if message.event == END:
                        return
                    last = message.id or last
                    yield message
            trouble: OddishError = Unreachable(f"{connection.base_url} ended an answer that was to go on.")
        except (ApiError, Unreachable) as error:
            if isinstance(error, ApiError) and not RetryPolicy.worth_repeating(error.http_status):
                raise
            trouble = error
        failures += 1
        if failures >= connection.patience(met=met):
            raise trouble
        connection.pause(trouble.message, failures)
