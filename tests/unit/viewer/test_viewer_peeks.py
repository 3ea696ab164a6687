"""A call of a tool is seen at a glance by its arguments, whatever the tool is called."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.viewer.peeks import LENGTH, Edit, edits, kind, one_line, peek, script
from oddish.viewer.traces import ToolCall

ARGUMENTS = st.sampled_from(["command", "path", "old_str", "new_str", "edits", "pattern", "query", "url", "code", "x"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ARGUMENTS, inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"command": "ls -la\n"}, ("terminal", "ls -la")),
        ({"command": "cd /app\nmake\nmake test"}, ("terminal", "cd /app (+2 lines)")),
        ({"command": ["bash", "-lc", "ls"]}, ("terminal", "bash -lc ls")),
        ({"commands": [{"keystrokes": "ls\n"}, {"keystrokes": "pwd\n"}]}, ("terminal", "ls (+2 lines)")),
        ({"command": "view", "path": "/a.py", "view_range": [1, 20]}, ("file", "view /a.py lines 1–20")),
        ({"file_path": "a.py", "offset": 30}, ("file", "a.py from line 30")),
        ({"path": "a.py", "old_str": "a\nb", "new_str": "c"}, ("edit", "a.py −2 +1")),
        ({"file_path": "b.py", "content": "x\ny\n"}, ("edit", "b.py −0 +2")),
        ({"pattern": "def .*", "path": "src"}, ("search", "def .* in src")),
        ({"query": "rust"}, ("search", "rust")),
        ({"url": "https://x.example"}, ("web", "https://x.example")),
        ({"code": "print(1)"}, ("code", "print(1)")),
        ({"answer": "0.4"}, ("other", "0.4")),
        ({"city": "Bern", "days": 2}, ("other", '{ "city": "Bern", "days": 2 }')),
        ("plain words", ("other", "plain words")),
        (None, ("other", "")),
        ({}, ("other", "")),
        ([1], ("other", "[ 1 ]")),
    ],
)
def test_what_a_call_does_is_one_line(arguments: Any, expected: tuple[str, str]) -> None:
    call = ToolCall("whatever", arguments)
    assert (kind(call), peek(call)) == expected


@settings(max_examples=60)
@given(json_values | st.dictionaries(ARGUMENTS, json_values, max_size=4))
def test_whatever_the_arguments_are_the_line_is_one_and_short(arguments: Any) -> None:
    line = peek(ToolCall(None, arguments))
    assert len(line) <= LENGTH + len(" (+1234 lines)")
    assert "\n" not in line


def test_several_edits_in_one_call_are_all_found() -> None:
    call = ToolCall(
        "multi",
        {"path": "a", "edits": [{"old_text": "1", "new_text": "2"}, {"oldText": "3"}, {"old": "4", "new": "5"}]},
    )
    assert edits(call) == (Edit("a", "1", "2"), Edit("a", "4", "5"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"command": "ls\n"}, None),
        ({"command": "cd /app\nmake"}, "cd /app\nmake"),
        ({"code": "x" * 200}, "x" * 200),
        ({"path": "a\nb"}, None),
    ],
)
def test_what_does_not_fit_into_a_line_is_at_hand(arguments: dict[str, str], expected: str | None) -> None:
    assert script(ToolCall("tool", arguments)) == expected


def test_lines_are_cut_and_counted() -> None:
    assert one_line("x" * 500) == "x" * (LENGTH - 1) + "…"
    assert one_line(" \n\t\n") == ""
    assert one_line("one\ntwo") == "one (+1 line)"
