"""What a transcript looks like, whatever an agent wrote."""

import json

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.cli.text import clean
from oddish.cli.transcript import RESULT_LINES, WIDTH, lines, peek


def shown(kind: str, **payload: object) -> list[str]:
    return [click.unstyle(line) for line in lines(kind, payload)]  # type: ignore[arg-type]


def test_messages_are_shown_as_they_are() -> None:
    assert shown("message", text="Two\nlines.\n") == ["Two", "lines."]
    assert shown("message", text="Cut", truncated=True) == ["Cut …"]
    assert shown("message", text="Hm.\n\nYes.", thinking=True) == ["| Hm.", "|", "| Yes."]
    assert shown("message", text="Deep.", subagent=True) == ["    Deep."]


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ('{"command": "ls -la", "description": "List"}', "ls -la"),
        ('{"command": ["bash", "-lc", "echo \'a b\'"]}', """bash -lc 'echo '"'"'a b'"'"''"""),
        ('{"file_path": "/app/a.py", "old_string": "x"}', "/app/a.py"),
        ('{"todos": [{"a": 1}], "n": 2}', 'todos=[{"a": 1}], n=2'),
        ('{"command": "cut o', '{"command": "cut o'),
        ("*** Begin Patch\n+line", "*** Begin Patch +line"),
        ("{}", ""),
        ("[1]", "[1]"),
    ],
)
def test_a_call_is_one_line_with_what_tells_most(arguments: str, about: str) -> None:
    assert peek(arguments) == about
    assert shown("tool_use", name="Tool", input=arguments) == [f"> Tool  {about}".rstrip()]


def test_of_a_result_the_beginning_is_shown() -> None:
    short = [f"line {number}" for number in range(RESULT_LINES + 1)]
    assert shown("tool_result", content="\n".join(short)) == [f"    {line}" for line in short]
    long = shown("tool_result", content="\n".join([*short, "one", "more"]))
    assert long == [*(f"    {line}" for line in short[:-1]), "    … 3 more lines"]
    assert shown("tool_result", content="a", truncated=True) == ["    a", "    …"]
    assert shown("tool_result", content="No such file\nhere", is_error=True) == ["    failed: No such file", "    here"]
    assert shown("tool_result", content="", is_error=True) == ["    failed"]
    assert shown("tool_result", content="  \n") == []


def test_a_summary_is_set_apart() -> None:
    assert shown("summary", text="5000 events are as many as are kept.") == ["-- 5000 events are as many as are kept."]


texts = st.text(st.sampled_from("a \n\t\x1b[31m\x07\r\x9b\u202e\x00ü{}\"'"), max_size=200)


@given(st.sampled_from(["message", "tool_use", "tool_result", "summary", "new"]), texts, texts, st.booleans())
def test_no_control_of_a_terminal_gets_through(kind: str, one: str, two: str, flag: bool) -> None:
    payload = {"text": one, "name": one, "input": two, "content": two, "is_error": flag, "truncated": flag}
    for line in shown(kind, **payload):
        assert clean(line) == line
        assert "\n" not in line
        assert kind == "message" or len(line) < 2 * WIDTH


def test_payloads_of_other_shapes_are_shown_too() -> None:
    assert shown("message", text={"a": 1}) == [json.dumps({"a": 1})]
    assert shown("message") == [""]
    assert shown("tool_use", name=None, input=5) == ["> a tool  5"]
