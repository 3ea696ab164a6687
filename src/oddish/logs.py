"""Log lines of the server and the worker, all of them through structlog, to standard error."""

import contextlib
import io
import logging
import sys
from typing import Literal, TextIO, cast

import structlog


class Unfailing:
    """A stream whose lines are lost rather than an error when the disk is full or the reader gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            return self._stream.write(text)
        return 0

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()


def legible(text: str) -> str:
    """``text`` with escapes for what a terminal would act on: paths and errors come from anybody."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else character.encode("unicode_escape").decode()
        for character in text
    )


def _legible_values(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {name: legible(value) if isinstance(value, str) else value for name, value in event.items()}


def _legible_traceback(stream: TextIO, exc_info: structlog.typing.ExcInfo) -> None:
    written = io.StringIO()
    structlog.dev.plain_traceback(written, exc_info)
    stream.write(legible(written.getvalue()))


def configure_logging(shape: Literal["console", "json"]) -> None:
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if shape == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_legible_traceback)
    )
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: structlog.typing.Processor = structlog.processors.format_exc_info if shape == "json" else _legible_values
    structlog.configure(
        processors=[*shared, last, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", Unfailing(sys.stderr))),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, last, renderer],
            foreign_pre_chain=shared,
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
