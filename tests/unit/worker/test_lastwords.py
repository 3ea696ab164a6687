"""What is told of an attempt whose process died."""

from pathlib import Path

from oddish.engine.redaction import Redactor
from oddish.worker.lastwords import LOG, SHOWN_BYTES, last_words

SECRET = "correct-horse-battery"


def test_the_end_of_the_log_is_told_without_secrets(tmp_path: Path) -> None:
    (tmp_path / LOG).write_text("begin" + "." * SHOWN_BYTES + f"\nTraceback: {SECRET} is wrong\n")
    told = last_words(tmp_path, Redactor([SECRET]))
    assert told.endswith("is wrong")
    assert SECRET not in told
    assert "begin" not in told


def test_a_secret_at_the_edge_of_what_is_told_is_not_told_in_part(tmp_path: Path) -> None:
    (tmp_path / LOG).write_text(SECRET + "x" * (SHOWN_BYTES - 5))
    assert "attery" not in last_words(tmp_path, Redactor([SECRET]))


def test_an_attempt_that_printed_nothing_has_no_last_words(tmp_path: Path) -> None:
    assert last_words(tmp_path, Redactor(())) == ""


def test_another_file_is_not_read_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("private")
    (tmp_path / LOG).symlink_to(tmp_path / "elsewhere")
    assert last_words(tmp_path, Redactor(())) == ""
