"""What is in a message, whichever API its writer talked to: words, reasoning, data, calls, results, files. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from oddish.documents import mapping, mappings, text
from oddish.viewer.fields import shown
from oddish.viewer.traces import Message, ToolCall

REASONING = ("reasoning_content", "reasoning", "thinking")
_TEXTS = ("text", "thinking", "reasoning", "refusal", "output_text", "input_text")
"""Members of a part in which its text is."""
_SOURCES = ("source", "image_url", "input_audio", "audio", "file")
_EMBEDDED = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,[A-Za-z0-9+/=_-]{64,}")
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]")
_LOOKED_AT = 2000
_ODD_SHARE = 0.1

type Form = Literal["words", "reasoning", "data"]
"""``data``: JSON that is no text, written as such."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    form: Form = "words"


@dataclass(frozen=True, slots=True)
class Omitted:
    """What is not text."""

    what: str
    """For a reader: ``image, image/png, 12,034 characters``."""


type Part = Text | Omitted


@dataclass(frozen=True, slots=True)
class Returned:
    """What a tool answered."""

    call: str | None
    """Id of the call."""
    name: str | None
    """Of the tool, where the answer says it."""
    parts: tuple[Part, ...]
    is_error: bool = False


def parts(message: Message) -> tuple[Part, ...]:
    """What a reader is shown of a message, reasoning first; no calls, no results."""
    reasoning = [Text(found, "reasoning") for name in REASONING if (found := text(message.extra.get(name)))]
    own = [item for item in _items(message.content) if _kind(item) not in ("tool_use", "tool_result", "function_call")]
    return (*reasoning, *_parts(own))


def calls(message: Message) -> tuple[ToolCall, ...]:
    """Those beside the content, those among its parts, and the only one that older APIs knew."""
    among = [
        ToolCall(text(item.get("name")), item.get("input"), text(item.get("id")))
        for item in mappings(message.content)
        if _kind(item) == "tool_use"
    ]
    only = mapping(message.extra.get("function_call"))
    return (*message.tool_calls, *among, *([ToolCall(text(only.get("name")), only.get("arguments"))] if only else []))


def returned(message: Message, *, is_tool: bool) -> tuple[Returned, ...]:
    """The results among the parts; a message of a tool is one as a whole."""
    if is_tool:
        failed = message.extra.get("is_error") is True
        return (Returned(message.tool_call_id, text(message.extra.get("name")), parts(message), failed),)
    return tuple(
        Returned(
            text(item.get("tool_use_id")),
            None,
            _parts(_items(item.get("content"))),
            item.get("is_error") is True,
        )
        for item in mappings(message.content)
        if _kind(item) == "tool_result"
    )


def written(value: object) -> str:
    """Arguments for a reader: a text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _items(content: object) -> list[Any]:
    return content if isinstance(content, list) else [content]


def _parts(items: list[Any]) -> tuple[Part, ...]:
    return tuple(part for item in items for part in _part(item))


def _part(item: object) -> Iterator[Part]:
    if item is None or item == "":
        return
    if isinstance(item, str):
        yield _of_text(item, "words")
        return
    if isinstance(item, dict):
        inner = next((found for name in _TEXTS if (found := text(item.get(name))) is not None), None)
        if inner is not None:
            form: Form = "reasoning" if _kind(item) in ("thinking", "reasoning") else "words"
            if inner:
                yield _of_text(inner, form)
            return
        if (what := _media(item)) is not None:
            yield Omitted(what)
            return
    yield Text(written(item), "data")


def _of_text(found: str, form: Form) -> Part:
    if (match := _EMBEDDED.match(found)) is not None and match.end() == len(found.rstrip()):
        return Omitted(_described("data", match.group(1), len(found)))
    sample = found[:_LOOKED_AT]
    if len(_ODD.findall(sample)) > _ODD_SHARE * len(sample):
        return Omitted(_described("binary", None, len(found)))
    return Text(found, form)


def _media(item: Mapping[str, Any]) -> str | None:
    """What a part that is an image, a sound or a file is; None for others."""
    kind = _kind(item)
    source = next((item[name] for name in _SOURCES if name in item), None)
    if kind is None or (source is None and not any(word in kind for word in ("image", "audio", "video", "file"))):
        return None
    inner = mapping(source)
    data = text(source) or next(
        (found for name in ("data", "url", "path", "file_data", "file_id") if (found := text(inner.get(name)))), ""
    )
    media = text(inner.get("media_type")) or text(inner.get("format")) or text(item.get("mime_type"))
    if (match := _EMBEDDED.match(data)) is not None:
        return _described(kind, media or match.group(1), len(data))
    if len(data) > len(shown("")) and (data.startswith(("http://", "https://")) or "path" in inner):
        return f"{_named(kind)}, {shown(data)}"
    return _described(kind, media, len(data))


def _described(kind: str, media: str | None, size: int) -> str:
    return ", ".join(filter(None, (_named(kind), media, f"{size:,} characters" if size else None)))


def _named(kind: str) -> str:
    """``image`` for ``input_image`` and ``image_url``."""
    return kind.removeprefix("input_").removesuffix("_url")[:40]


def _kind(item: object) -> str | None:
    return text(item.get("type")) if isinstance(item, dict) else None
