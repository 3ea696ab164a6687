import contextlib
import io
import logging
from collections.abc import Iterator

import pytest
import structlog

from oddish.logs import configure_logging, legible


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What is logged for people from here on."""
    root = logging.getLogger()
    before, level, configuration = list(root.handlers), root.level, structlog.get_config()
    stream = io.StringIO()
    with contextlib.redirect_stderr(stream):
        configure_logging("console")
        yield stream
    root.handlers[:] = before
    root.setLevel(level)
    structlog.configure(**configuration)


HOSTILE = "/tasks/\x1b]0;title\x07\x9b31m\u202e\0"


def test_a_path_cannot_act_on_the_terminal_that_shows_the_log(lines: io.StringIO) -> None:
    structlog.get_logger().info("request", path=HOSTILE)
    assert lines.getvalue().strip().isprintable()
    assert r"/tasks/\x1b]0;title\x07\x9b31m\u202e\x00" in lines.getvalue()


def test_what_an_error_says_cannot_act_on_the_terminal_that_shows_the_log(lines: io.StringIO) -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError as error:
        structlog.get_logger().error("request_failed", exc_info=error)
    assert "Traceback" in lines.getvalue()
    assert lines.getvalue().replace("\n", "").isprintable()


def test_messages_of_libraries_cannot_act_on_the_terminal_that_shows_the_log(lines: io.StringIO) -> None:
    logging.getLogger("some.library").warning("odd %s", HOSTILE)
    assert "odd /tasks/" in lines.getvalue()
    assert lines.getvalue().strip().isprintable()


def test_letters_of_any_script_stay_as_they_are_in_the_log() -> None:
    assert legible("Größe 尺寸\n\tx") == "Größe 尺寸\n\tx"
