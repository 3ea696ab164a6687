"""Traces of the attempts of a worker, where a setting asks for them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import structlog

from oddish.engine.redaction import Redactor
from oddish.engine.results import TrialFacts
from oddish.engine.trajectory import trajectory
from oddish.outcome import Outcome
from oddish.settings import UnreadableSetting
from oddish.tracing.attempt import trace
from oddish.tracing.export import Sender, available
from oddish.tracing.spans import Period
from oddish.trials.recording import Report
from oddish.trials.spec import TrialSpec

log = structlog.get_logger()

CLOSE_SECONDS = 5.0


class Traces:
    """Sends them without anything of an attempt depending on it."""

    def __init__(self, asked: Literal["off", "spans", "contents"]) -> None:
        """Raises ``UnreadableSetting`` where they are asked for and cannot be made."""
        if asked != "off" and not available():
            raise UnreadableSetting(
                f"ODDISH_TRACING={asked} needs OpenTelemetry, which is not installed.",
                fix="Install 'oddish[otel]', or unset ODDISH_TRACING.",
            )
        self._contents = asked == "contents"
        self._sender = None if asked == "off" else Sender()

    async def tell(
        self,
        spec: TrialSpec,
        attempt: int,
        period: Period,
        facts: TrialFacts | None,
        directory: Path | None,
        outcome: Outcome,
        report: Report,
    ) -> None:
        """Send the trace of an attempt that is recorded; ``directory`` still has its files."""
        if self._sender is None:
            return

        def documents(step: str | None) -> Iterator[dict[str, Any]]:
            return trajectory(directory, step) if directory else iter(())

        try:
            told = await asyncio.to_thread(
                trace,
                spec,
                attempt,
                period,
                facts or TrialFacts(problem="missing"),
                outcome,
                report,
                documents,
                redact=Redactor(spec.secrets()).text,
                contents=self._contents,
            )
        except Exception:
            log.exception("trace left out")
        else:
            self._sender.send(told)

    def close(self) -> None:
        """Send what waits, for a moment."""
        if self._sender is not None:
            self._sender.close(CLOSE_SECONDS)
