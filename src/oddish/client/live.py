"""What a trial says and does while it runs."""

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast, final
from urllib.parse import urlencode

from oddish.client.errors import UnexpectedAnswer
from oddish.client.eventstream import follow
from oddish.client.paths import segment
from oddish.client.shapes import items, members
from oddish.client.types import JSON

if TYPE_CHECKING:
    from oddish.client.connection import Connection

STATE = "state"


class LiveUsage(TypedDict):
    """What an attempt took so far; None where nothing is known of it."""

    input_tokens: int | None
    cache_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    cost_is_estimated: NotRequired[bool | None]


class _State(TypedDict):
    attempt: int
    usage: LiveUsage
    harbor_stage: str | None
    done: bool


@final
class LiveState(_State):
    """How far the trial is, and what its current attempt took so far."""


class LiveEvent(TypedDict):
    """One event of a transcript: ``kind`` is message, tool_use, tool_result or summary."""

    seq: int
    kind: str
    payload: dict[str, JSON]
    created_at: str | None
    """None of what was read from files, which do not tell."""


class LivePage(_State):
    events: list[LiveEvent]
    next_seq: int


@final
class Said(LiveEvent):
    """An event of an attempt. Another attempt begins a transcript of its own."""

    attempt: int


type News = Said | LiveState
"""Told apart by ``"kind" in news``."""

_STATE = ("attempt", "usage", "harbor_stage", "done")
_EVENT = ("seq", "kind", "payload", "created_at")


class Live:
    """Events are kept until a minute after an attempt has ended; its files have them for good."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def page(self, trial_id: str, *, attempt: int | None = None, after_seq: int = 0) -> LivePage:
        """The events after ``after_seq``; from the first one where ``attempt`` is no longer the current one."""
        params: dict[str, str | int | bool] = {"after_seq": after_seq}
        if attempt is not None:
            params["attempt"] = attempt
        answer = self._connection.call("GET", _path(trial_id), params=params)
        page = members(answer, LivePage, *_STATE, "events", "next_seq")
        page["events"] = items(cast("JSON", page["events"]), LiveEvent, *_EVENT)
        return page

    def so_far(self, trial_id: str) -> Iterator[News]:
        """The state, all there is to be told at the moment, and the state that it has come to."""
        page = self.page(trial_id)
        state = _state(page)
        yield state
        while page["events"]:
            for event in page["events"]:
                yield {**event, "attempt": page["attempt"]}
            page = self.page(trial_id, attempt=page["attempt"], after_seq=page["next_seq"])
        if _state(page) != state:
            yield _state(page)

    def follow(
        self,
        trial_id: str,
        *,
        attempt: int | None = None,
        after_seq: int = 0,
        quiet: Callable[[], None] | None = None,
    ) -> Iterator[News]:
        """What there is and what comes until the trial has ended, and each new state, through lost connections.

        ``quiet`` is called every 15 seconds in which there is nothing new.
        """
        params = {"after_seq": after_seq} | ({} if attempt is None else {"attempt": attempt})
        for message in follow(self._connection, f"{_path(trial_id)}?{urlencode(params)}", quiet):
            try:
                document = cast("JSON", json.loads(message.data))
            except (ValueError, RecursionError):
                raise UnexpectedAnswer(
                    f"{self._connection.base_url} tells of a trial in something other than JSON."
                ) from None
            if message.event == STATE:
                yield members(document, LiveState, *_STATE)
            else:
                yield members(document, Said, "attempt", *_EVENT)


def _state(page: LivePage) -> LiveState:
    return {
        "attempt": page["attempt"],
        "usage": page["usage"],
        "harbor_stage": page["harbor_stage"],
        "done": page["done"],
    }


def _path(trial_id: str) -> str:
    return f"/trials/{segment(trial_id, 'a trial')}/live"
