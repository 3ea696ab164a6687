import json
from datetime import UTC, datetime

import pytest

from oddish.cli.text import age, between, clean, command, duration, joined, json_text, number, one_line


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        ("plain\n\ttext", "plain\n\ttext"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPpayload\x1b\\after", "after"),
        ("\x9b31mred", "red"),
        ("over\rwritten\x08", "overwritten"),
        ("\x1b", ""),
        ("safe\u202egnp.exe", "safegnp.exe"),
        ("half \ud83d of a pair", "half  of a pair"),
        ("naïve – 日本 ✓", "naïve – 日本 ✓"),
    ],
)
def test_terminal_control_is_removed(dirty: str, expected: str) -> None:
    assert clean(dirty) == expected


def test_json_holds_no_terminal_control_and_says_the_same() -> None:
    document = {"text": "\x9b31m \x1b[31m \x7f \u202e \ud83d naïve 日本\n"}
    written = json_text(document)
    assert clean(written) == written
    assert "naïve 日本" in written
    assert json.loads(written) == document


def test_one_line_folds_and_cuts() -> None:
    assert one_line("a\n b\t c") == "a b c"
    assert one_line("abcdef", 4) == "abc…"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "–"),
        (1.0, "1"),
        (0.0, "0"),
        (-0.0, "0"),
        (0.75, "0.75"),
        (-0.75, "-0.75"),
        (1 / 3, "0.333"),
        (0.001, "0.001"),
        (123456.789, "123456.789"),
        (1e308, "1e+308"),
        (-1.23456e100, "-1.23e+100"),
        (2_500_000, "2.5e+06"),
        (0.00045, "0.00045"),
        (-1e-9, "-1e-09"),
    ],
)
def test_numbers(value: float | None, expected: str) -> None:
    assert number(value) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(-3, "0s"), (59.9, "59s"), (61, "1m01s"), (3599, "59m59s"), (3661, "1h01m"), (300_000, "3d")],
)
def test_durations(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_times_with_and_without_an_offset() -> None:
    now = datetime(2026, 1, 1, 12, 1, tzinfo=UTC)
    assert age("2026-01-01T12:00:00Z", now) == age("2026-01-01T12:00:00", now) == "1m00s ago"
    assert between("2026-01-01T12:00:00Z", None, now) == "1m00s"
    assert between(None, None) == age(None) == age("no time") == "–"


def test_commands_can_be_pasted() -> None:
    assert command("status", "-e", "it's $HOME") == """oddish status -e 'it'"'"'s $HOME'"""


def test_long_lists_are_counted() -> None:
    assert joined("abc", 2) == "a, b and 1 more"
    assert joined("ab", 2) == "a, b"
