"""What an engine prints, in the worker's log."""

import os

import structlog
from structlog.testing import capture_logs

from oddish.engine.relay import LINE_BYTES, relay


def printed(output: bytes) -> list[str]:
    reader, writer = os.pipe()
    with capture_logs() as logs:
        thread = relay(os.fdopen(reader, "rb"))
        os.write(writer, output)
        os.close(writer)
        thread.join(10)
    return [entry["line"] for entry in logs if entry["event"] == "engine"]


def test_every_line_is_a_line_of_the_log() -> None:
    assert printed(b"Traceback:\n  somewhere\n\nlast without an end") == [
        "Traceback:",
        "  somewhere",
        "last without an end",
    ]


def test_bytes_that_are_no_text_and_lines_without_an_end_do_not_stop_it() -> None:
    first, second, third = printed(b"\xff\n" + b"x" * (LINE_BYTES + 10) + b"\nafter\n")[:3]
    assert first == "\ufffd"
    assert (len(second), third) == (LINE_BYTES, "x" * 10)


def test_the_lines_carry_what_is_bound_to_the_worker() -> None:
    seen: list[structlog.typing.EventDict] = []

    def keep(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        seen.append(event)
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[structlog.contextvars.merge_contextvars, keep], cache_logger_on_first_use=False)
    try:
        with structlog.contextvars.bound_contextvars(worker="w-1"):
            printed_by = relay(os.fdopen(_pipe_with(b"hello\n"), "rb"))
        printed_by.join(10)
    finally:
        structlog.configure(**before)
    assert [(event["line"], event["worker"]) for event in seen] == [("hello", "w-1")]


def _pipe_with(output: bytes) -> int:
    reader, writer = os.pipe()
    os.write(writer, output)
    os.close(writer)
    return reader
