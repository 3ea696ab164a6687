"""News of a trial as they come: for people, or one JSON document a line."""

from collections.abc import Mapping
from typing import Protocol, cast

import click

from oddish.cli.footer import Footer
from oddish.cli.output import print_line
from oddish.cli.spending import spent
from oddish.cli.transcript import lines
from oddish.cli.trials import stage_label
from oddish.client.live import LiveState, LiveUsage, Said
from oddish.client.types import Trial
from oddish.transcript import Event


class Teller(Protocol):
    def said(self, event: Said) -> None: ...

    def state(self, state: LiveState) -> None: ...

    def close(self) -> None: ...


class JsonLines:
    def said(self, event: Said) -> None:
        print_line(event)

    def state(self, state: LiveState) -> None:
        print_line({"kind": "state", **state})

    def close(self) -> None:
        """Every line is whole."""


class Readable:
    """The transcript, a line for each stage and each new attempt, and below it all what the attempt took so far."""

    def __init__(self) -> None:
        self._footer = Footer()
        self._attempt: int | None = None
        self._stage: str | None = None
        self._kind: str | None = None
        self._reason: str | None = None

    def said(self, event: Said) -> None:
        self._begin(event["attempt"])
        kind = event["kind"]
        block = kind if kind == "message" else "action"
        if self._kind not in (None, block):
            self._footer.above("")
        self._kind = block
        for line in lines(kind, event["payload"]):
            self._footer.above(line)

    def state(self, state: LiveState) -> None:
        self._begin(state["attempt"])
        stage = state["harbor_stage"]
        if stage is not None and stage != self._stage and not state["done"]:
            self._headline(stage_label(stage))
            self._reason = None
        self._stage = stage
        self._footer.show(spent(state["usage"]) or "")

    def waits(self, reason: str) -> None:
        """Why nothing is done, unless that was the last to be told."""
        if reason != self._reason:
            self._headline(f"waiting: {reason}")
            self._reason = reason

    def close(self) -> None:
        self._footer.clear()

    def _begin(self, attempt: int) -> None:
        if self._attempt not in (None, attempt):
            self._headline(f"retried: attempt {attempt}")
            self._stage = self._reason = None
        self._attempt = attempt

    def _headline(self, text: str) -> None:
        self._footer.above(click.style(f"--- {text} ---", dim=True))
        self._kind = None


def stored(seq: int, attempt: int, event: Event) -> Said:
    """An event that was read from the files of an attempt; nothing says when it was."""
    return {"attempt": attempt, "seq": seq, "kind": event.kind, "payload": event.payload, "created_at": None}


def ended(trial: Trial, attempt: int) -> LiveState:
    """The state of a trial that has ended."""
    known = cast("Mapping[str, object]", trial)
    usage = cast("LiveUsage", {name: known.get(name) for name in LiveUsage.__annotations__})
    return {"attempt": attempt, "usage": usage, "harbor_stage": trial["harbor_stage"], "done": True}
