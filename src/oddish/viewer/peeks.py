"""Calls of tools at a glance: what kind of thing they do and the line that says it, whatever a tool is called. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from oddish.documents import mapping, mappings, sequence, text
from oddish.viewer.contents import written
from oddish.viewer.traces import ToolCall

LENGTH = 120
"""Characters of a line."""
_LOOKED_AT = 2000

type Kind = Literal["terminal", "code", "edit", "file", "search", "web", "other"]

_REPLACED = (("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text"), ("old", "new"))
_CREATED = ("content", "file_text", "contents")
_PATHS = ("path", "file_path", "filepath", "file", "filename", "notebook_path", "target_file", "absolute_path")
_VERBS = frozenset({"view", "create", "insert", "undo_edit", "str_replace"})
"""What editors have as their command."""
_BY_ARGUMENT: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    ("terminal", ("command", "cmd", "keystrokes", "commands", "bash_command", "shell_command")),
    ("code", ("code", "script", "python_code", "cell", "source")),
    ("search", ("pattern", "query", "regex", "search_term", "queries")),
    ("file", _PATHS),
    ("web", ("url", "uri")),
    ("other", ("answer", "final_answer", "output", "result", "message", "text", "thought", "summary", "description")),
)


@dataclass(frozen=True, slots=True)
class Edit:
    """A text in a file and what it becomes; a new file has had none."""

    path: str | None
    old: str
    new: str


def kind(call: ToolCall) -> Kind:
    if edits(call):
        return "edit"
    return _found(call)[0]


def peek(call: ToolCall) -> str:
    """One line of at most ``LENGTH`` characters; empty for a call without arguments."""
    changed = edits(call)
    if changed:
        old, new = (sum(map(_lines, texts)) for texts in zip(*((edit.old, edit.new) for edit in changed), strict=True))
        return f"{one_line(changed[0].path or '', LENGTH - 20)} −{old} +{new}".strip()
    found, value = _found(call)
    arguments = mapping(call.arguments)
    if found == "file":
        verb = text(arguments.get("command"))
        return one_line(" ".join(filter(None, (verb, _flat(value), _range(arguments)))))
    if found == "search" and (place := _first(arguments, _PATHS)) is not None:
        return one_line(f"{one_line(_flat(value), LENGTH // 2)} in {_flat(place)}")
    return one_line(_flat(value))


def script(call: ToolCall) -> str | None:
    """A command or program that one line does not hold; None for other calls."""
    found, value = _found(call)
    if found not in ("terminal", "code"):
        return None
    whole = _flat(value)
    return whole if len(whole) > LENGTH or "\n" in whole.strip() else None


def edits(call: ToolCall) -> tuple[Edit, ...]:
    """The replacements that a call asks for."""
    arguments = mapping(call.arguments)
    place = _first(arguments, _PATHS)
    path = text(place)
    several = [edit for item in mappings(arguments.get("edits")) if (edit := _edit(item, path)) is not None]
    if several:
        return tuple(several)
    only = _edit(arguments, path)
    if only is not None:
        return (only,)
    created = text(_first(arguments, _CREATED))
    return (Edit(path, "", created),) if path is not None and created is not None else ()


def one_line(found: str, length: int = LENGTH) -> str:
    """The first line that is not blank, and how many follow it."""
    lines = [line for line in found[:_LOOKED_AT].splitlines() if line.strip()]
    if not lines:
        return ""
    first = " ".join(lines[0].split())
    if len(first) > length:
        return f"{first[: length - 1]}…"
    more = found.strip().count("\n")
    return f"{first} (+{more} {'line' if more == 1 else 'lines'})" if more else first


def _edit(arguments: Mapping[str, Any], path: str | None) -> Edit | None:
    for old, new in _REPLACED:
        before, after = text(arguments.get(old)), text(arguments.get(new))
        if before is not None and after is not None:
            return Edit(path, before, after)
    return None


def _found(call: ToolCall) -> tuple[Kind, object]:
    """By the argument that says most, and its value."""
    arguments = mapping(call.arguments)
    if not arguments:
        return "other", call.arguments if call.arguments not in (None, {}, []) else ""
    path = _first(arguments, _PATHS)
    if path is not None and text(arguments.get("command")) in _VERBS:
        return "file", path
    for found, names in _BY_ARGUMENT:
        value = _first(arguments, names)
        if value is not None:
            return found, value
    return "other", arguments


def _first(arguments: Mapping[str, Any], names: tuple[str, ...]) -> object:
    return next((value for name in names if (value := arguments.get(name)) not in (None, "", [], {})), None)


def _flat(value: object) -> str:
    """A command that is a list of words is written as one."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        inner = [found for item in value if isinstance(found := _first(item, _BY_ARGUMENT[0][1]), str)]
        return "\n".join(inner) if inner else " ".join(written(value).split())
    return value if isinstance(value, str) else " ".join(written(value)[:_LOOKED_AT].split())


def _range(arguments: Mapping[str, Any]) -> str | None:
    lines = sequence(arguments.get("view_range"))
    if len(lines) == 2:
        return f"lines {lines[0]}–{lines[1]}"
    begin = arguments.get("offset") or arguments.get("start_line")
    return f"from line {begin}" if isinstance(begin, int) and not isinstance(begin, bool) else None


def _lines(found: str) -> int:
    return len(found.splitlines())
