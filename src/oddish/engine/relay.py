"""What an engine prints, as lines of the worker's own log: tracebacks and warnings of libraries stay in its format."""

import contextvars
import threading
from typing import IO

import structlog

LINE_BYTES = 8192

log = structlog.get_logger()


def relay(printed: IO[bytes]) -> threading.Thread:
    """Log every line of ``printed`` until its end, with what is bound to the lines of the caller, and close it."""
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(_relay, printed), name="engine-output", daemon=True)
    thread.start()
    return thread


def _relay(printed: IO[bytes]) -> None:
    with printed:
        while line := printed.readline(LINE_BYTES):
            if text := line.decode(errors="replace").rstrip():
                log.info("engine", line=text)
