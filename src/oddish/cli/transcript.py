"""A transcript as people read it: what was said, calls of tools on one line, the beginnings of their results. Pure."""

import json
import shlex
from collections.abc import Iterator, Mapping

import click

from oddish.cli.text import clean, one_line, plural
from oddish.client.types import JSON

RESULT_LINES = 6
WIDTH = 160
"""Characters of a line of a call or a result."""
INDENT = "    "
TELLING = ("command", "cmd", "script", "code", "file_path", "path", "filename", "pattern", "query", "url", "keystrokes")
"""Arguments that say by themselves what a call does."""


def lines(kind: str, payload: Mapping[str, JSON]) -> Iterator[str]:
    """The lines of one event, safe for a terminal whatever the agent wrote."""
    match kind:
        case "tool_use":
            yield _call(payload)
        case "tool_result":
            yield from _result(payload)
        case "summary":
            yield click.style(f"-- {one_line(_text(payload, 'text'), WIDTH)}", dim=True)
        case _:
            yield from _message(payload)


def _message(payload: Mapping[str, JSON]) -> Iterator[str]:
    text = clean(_text(payload, "text")).strip("\n") + (" …" if payload.get("truncated") else "")
    aside = bool(payload.get("thinking"))
    for line in text.split("\n"):
        shown = line.rstrip().expandtabs(4)
        yield click.style(f"{_margin(payload)}| {shown}".rstrip(), dim=True) if aside else _margin(payload) + shown


def _call(payload: Mapping[str, JSON]) -> str:
    name = one_line(_text(payload, "name") or "a tool", WIDTH // 4)
    return f"{_margin(payload)}{click.style(f'> {name}', fg='cyan')}  {peek(_text(payload, 'input'))}".rstrip()


def _result(payload: Mapping[str, JSON]) -> Iterator[str]:
    failed = bool(payload.get("is_error"))
    found = [line for line in clean(_text(payload, "content")).expandtabs(4).split("\n") if line.strip()]
    shown = found if len(found) <= RESULT_LINES + 1 else found[:RESULT_LINES]
    if failed:
        shown = [f"failed: {shown[0].strip()}" if shown else "failed", *shown[1:]]
    margin = _margin(payload) + INDENT
    for line in shown:
        yield margin + click.style(_cut(line.rstrip()), fg="red" if failed else None, dim=not failed)
    hidden = len(found) - min(len(shown), len(found))
    if hidden or payload.get("truncated"):
        more = f"… {plural(hidden, 'more line')}" if hidden else "…"
        yield margin + click.style(f"{more}{' and more' if hidden and payload.get('truncated') else ''}", dim=True)


def peek(arguments: str) -> str:
    """What a call is about, on one line: the argument that tells most, else all of them."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return one_line(arguments, WIDTH)
    if isinstance(value, dict):
        telling = next((value[name] for name in TELLING if value.get(name)), None)
        value = (
            telling if telling is not None else ", ".join(f"{name}={_plain(entry)}" for name, entry in value.items())
        )
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        value = shlex.join(value)
    return one_line(_plain(value), WIDTH)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(payload: Mapping[str, JSON], member: str) -> str:
    value = payload.get(member)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _margin(payload: Mapping[str, JSON]) -> str:
    """What a sub-agent does stands further to the right."""
    return INDENT if payload.get("subagent") else ""


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
