"""Gemini CLI: what it prints, which is text alone, and its session file, which has tools and tokens.

Harbor copies the session file to the logs when the agent has ended. A record is written again, under the same id, when
the results of its tools have arrived.
"""

from collections.abc import Iterable
from typing import Any

from oddish.documents import mapping, mappings, text
from oddish.transcript.adapter import Source
from oddish.transcript.echo import EchoAdapter
from oddish.transcript.events import Event, as_text
from oddish.transcript.usage import UNNAMED, model_name, tokens, with_cache


class GeminiCli(EchoAdapter):
    """Tokens: those of each answer, thoughts counted as output."""

    sources = (Source("*/chats/session-*.jsonl"), Source("gemini-cli.trajectory.jsonl"), Source("gemini-cli.txt"))
    homes = ("/root/.gemini/tmp",)

    def session(self, record: dict[str, Any]) -> Iterable[Event]:
        key = text(record.get("id"))
        match record.get("type"):
            case "gemini" | "message_update":
                return self._answer(key, record)
            case "error" if self._seen.add((key, "error")):
                return self.scribe.summary(f"Error: {as_text(record.get('content'))}")
        return ()

    def _answer(self, key: str | None, record: dict[str, Any]) -> Iterable[Event]:
        self.model = model_name(record.get("model")) or self.model
        usage = record.get("tokens")
        if isinstance(usage, dict):
            output = tokens(usage.get("output")) + tokens(usage.get("thoughts"))
            figures = with_cache(usage.get("input"), usage.get("cached"), 0, output)
            self._answers.put(key, self.model or UNNAMED, figures)
        events: list[Event] = []
        for number, thought in enumerate(mappings(record.get("thoughts"))):
            if self._seen.add((key, "thought", number)):
                parts = (text(thought.get("subject")), text(thought.get("description")))
                events += self.scribe.message("\n".join(part for part in parts if part), thinking=True)
        words = as_text(record.get("content"))
        if words and self._seen.add((key, "content")):
            events += self.words(words)
        for call in mappings(record.get("toolCalls")):
            events += self._call(key, call)
        return events

    def _call(self, key: str | None, call: dict[str, Any]) -> Iterable[Event]:
        call_id = text(call.get("id"))
        if self._seen.add((key, "call", call_id)):
            yield from self.scribe.tool_use(call.get("name"), call.get("args"))
        if call.get("result") and self._seen.add((key, "result", call_id)):
            yield from self.scribe.tool_result(response(call["result"]), is_error=call.get("status") != "success")


def response(parts: object) -> object:
    """The output or the error in the parts with which a function responds."""
    for part in mappings(parts):
        answer = mapping(mapping(part.get("functionResponse")).get("response"))
        for member in ("output", "error"):
            if member in answer:
                return answer[member]
    return parts
