"""opencode: the lines it prints (``--format=json``).

The request that makes up a title is in no line, nor is a step whose tool was interrupted: both were paid for and are
missing in what is counted here.
"""

from collections.abc import Iterable
from typing import Any

from oddish.documents import mapping, text
from oddish.transcript.adapter import Source
from oddish.transcript.events import Event, Scribe
from oddish.transcript.lines import RecordAdapter
from oddish.transcript.seen import Seen
from oddish.transcript.usage import UNNAMED, Tally, Usage, beside_cache, tokens


class OpenCode(RecordAdapter):
    """Tokens and cost: those of each finished step."""

    sources = (Source("opencode.txt"),)

    def __init__(self, scribe: Scribe) -> None:
        super().__init__(scribe)
        self._steps = Tally()
        self._seen = Seen()

    def counted(self) -> Usage:
        return self._steps.usage()

    def record(self, path: str, record: dict[str, Any]) -> Iterable[Event]:
        part = mapping(record.get("part"))
        key = text(part.get("id"))
        if key is not None and not self._seen.add((text(record.get("type")), key)):
            return ()
        match record.get("type"):
            case "text":
                return self.scribe.message(part.get("text"))
            case "reasoning":
                return self.scribe.message(part.get("text"), thinking=True)
            case "tool_use":
                return self._tool(part)
            case "step_finish":
                self._finish(key or text(part.get("messageID")), part)
            case "error":
                return self.scribe.summary(f"Error: {_reason(mapping(record.get('error')))}")
        return ()

    def _tool(self, part: dict[str, Any]) -> Iterable[Event]:
        state = mapping(part.get("state"))
        failed = state.get("status") == "error"
        content = state.get("error") if failed else state.get("output")
        yield from self.scribe.tool_use(part.get("tool"), state.get("input"))
        yield from self.scribe.tool_result(content, is_error=failed or bool(mapping(state.get("metadata")).get("exit")))

    def _finish(self, key: str | None, part: dict[str, Any]) -> None:
        usage = mapping(part.get("tokens"))
        cache = mapping(usage.get("cache"))
        output = tokens(usage.get("output")) + tokens(usage.get("reasoning"))
        figures = beside_cache(usage.get("input"), cache.get("read"), cache.get("write"), output, part.get("cost"))
        self._steps.put(key, UNNAMED, figures)


def _reason(error: dict[str, Any]) -> str:
    data = mapping(error.get("data"))
    return text(data.get("message")) or text(error.get("message")) or text(error.get("name")) or "no reason given"
