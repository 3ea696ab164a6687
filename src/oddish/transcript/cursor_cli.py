"""Cursor CLI: the lines it prints (``--output-format=stream-json``)."""

from collections.abc import Iterable
from typing import Any

from oddish.documents import mapping, text
from oddish.transcript.adapter import Source
from oddish.transcript.events import LOOKED_AT, Event, Scribe, as_text
from oddish.transcript.lines import RecordAdapter
from oddish.transcript.seen import Seen
from oddish.transcript.usage import UNNAMED, Tally, Usage, beside_cache, model_name


class CursorCli(RecordAdapter):
    """Tokens: the sums that each run reports at its end, so that there are none while it runs."""

    sources = (Source("cursor-cli.txt"),)

    def __init__(self, scribe: Scribe) -> None:
        super().__init__(scribe)
        self._runs = Tally()
        self._number = 0
        self._thought = ""
        self._called = Seen()

    def counted(self) -> Usage:
        return self._runs.usage()

    def record(self, path: str, record: dict[str, Any]) -> Iterable[Event]:
        kind, subtype = record.get("type"), record.get("subtype")
        if kind == "thinking" and subtype != "completed":
            self._thought = (self._thought + (text(record.get("text")) or ""))[: LOOKED_AT + 1]
            return
        thought, self._thought = self._thought, ""
        yield from self.scribe.message(thought, thinking=True)
        match kind:
            case "system" if subtype == "init":
                self.model = model_name(record.get("model")) or self.model
            case "assistant":
                yield from self.scribe.message(as_text(mapping(record.get("message")).get("content")))
            case "tool_call":
                yield from self._call(record, completed=subtype == "completed")
            case "result":
                self._report(record)
                failed = record.get("is_error") is True
                reason = text(record.get("result")) or text(subtype) or "no reason given"
                yield from self.scribe.summary(f"Ended with an error: {reason}" if failed else "Ended.")

    def _call(self, record: dict[str, Any], *, completed: bool) -> Iterable[Event]:
        for name, call in mapping(record.get("tool_call")).items():
            if not isinstance(call, dict):
                continue
            if self._called.add((text(record.get("call_id")), name)):
                yield from self.scribe.tool_use(name, call.get("args"))
            if completed:
                result = call.get("result")
                failed = isinstance(result, dict) and "success" not in result
                yield from self.scribe.tool_result(_content(result), is_error=failed)

    def _report(self, record: dict[str, Any]) -> None:
        self._number += 1
        usage = record.get("usage")
        if isinstance(usage, dict):
            cost = usage.get("totalCost")
            figures = beside_cache(
                usage.get("inputTokens"),
                usage.get("cacheReadTokens"),
                usage.get("cacheWriteTokens"),
                usage.get("outputTokens"),
                usage.get("cost") if cost is None else cost,
            )
            self._runs.put(text(record.get("request_id")) or self._number, self.model or UNNAMED, figures)


def _content(result: object) -> object:
    """What a tool printed, where its result says that; else the result."""
    success = mapping(mapping(result).get("success"))
    for member in ("stdout", "output", "content"):
        if isinstance(success.get(member), str):
            return success[member]
    return result
