"""Qwen Code: what it prints, which is its last answer, and its session file (``--chat-recording``).

Harbor copies the session file to the logs when the agent has ended.
"""

from collections.abc import Iterable
from typing import Any

from oddish.documents import mapping, mappings, text
from oddish.transcript.adapter import Source
from oddish.transcript.echo import EchoAdapter
from oddish.transcript.events import Event
from oddish.transcript.gemini_cli import response
from oddish.transcript.usage import UNNAMED, model_name, with_cache


class QwenCoder(EchoAdapter):
    """Tokens: those of each answer. Unlike Gemini CLI's, its output includes the thoughts."""

    sources = (
        Source("projects/*/chats/*.jsonl"),
        Source("qwen-sessions/*/chats/*.jsonl"),
        Source("qwen-code.txt"),
    )
    homes = ("/root/.qwen",)

    def session(self, record: dict[str, Any]) -> Iterable[Event]:
        key = text(record.get("uuid"))
        if key is not None and not self._seen.add(key):
            return ()
        parts = mappings(mapping(record.get("message")).get("parts"))
        match record.get("type"):
            case "assistant":
                return self._answer(key, record, parts)
            case "tool_result":
                failed = mapping(record.get("toolCallResult")).get("status") == "error"
                return self.scribe.tool_result(response(parts), is_error=failed)
            case "system":
                return self._telemetry(mapping(mapping(record.get("systemPayload")).get("uiEvent")))
        return ()

    def _answer(self, key: str | None, record: dict[str, Any], parts: list[dict[str, Any]]) -> Iterable[Event]:
        self.model = model_name(record.get("model")) or self.model
        usage = record.get("usageMetadata")
        if isinstance(usage, dict):
            figures = with_cache(
                usage.get("promptTokenCount"),
                usage.get("cachedContentTokenCount"),
                0,
                usage.get("candidatesTokenCount"),
            )
            self._answers.put(key, self.model or UNNAMED, figures)
        for part in parts:
            call = mapping(part.get("functionCall"))
            if call:
                yield from self.scribe.tool_use(call.get("name"), call.get("args"))
            elif part.get("thought") is True:
                yield from self.scribe.message(part.get("text"), thinking=True)
            else:
                yield from self.words(text(part.get("text")) or "")

    def _telemetry(self, event: dict[str, Any]) -> Iterable[Event]:
        if event.get("event.name") != "qwen-code.api_error":
            return ()
        return self.scribe.summary(f"Request failed: {text(event.get('error_message')) or 'no reason given'}")
