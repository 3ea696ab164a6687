"""Claude Code: the lines it prints (``--output-format=stream-json``), and its session files with the same records.

A record is printed as each part of an answer is complete, with the tokens that were known when the answer began; once
the answer is complete, its records reach the session file with their final numbers.
Sub-agents print only part of what they do; their session files have all of it.
"""

from collections.abc import Iterable
from typing import Any

from oddish.documents import mapping, mappings, text
from oddish.transcript.adapter import Source
from oddish.transcript.events import Event, Scribe, as_text
from oddish.transcript.lines import RecordAdapter
from oddish.transcript.seen import Seen
from oddish.transcript.usage import UNNAMED, Figures, Tally, Usage, beside_cache, model_name, price, priced_like

OUTPUT = "claude-code.txt"
SYNTHETIC = "<synthetic>"
"""The model of messages that the program wrote itself."""


class ClaudeCode(RecordAdapter):
    """Tokens: the last usage of each message. Without session files: what the program says of itself at its end."""

    # Printed lines come first: in them the main agent and its sub-agents take turns as they did.
    sources = (
        Source(OUTPUT),
        Source("sessions/projects/*/*.jsonl"),
        Source("sessions/projects/*/*/subagents/*.jsonl"),
    )

    def __init__(self, scribe: Scribe) -> None:
        super().__init__(scribe)
        self._printed = Tally()
        self._recorded = Tally()
        self._reported = Tally()
        self._seen = Seen()

    def counted(self) -> Usage:
        printed, recorded, reported = self._printed.usage(), self._recorded.usage(), self._reported.usage()
        messages = recorded if recorded.known else printed
        if not recorded.known and reported.tokens > printed.tokens:
            return reported
        # A report that does not cover all messages is of an earlier time, and so is its cost.
        return priced_like(messages, reported) if reported.input_tokens >= messages.input_tokens else messages

    def record(self, path: str, record: dict[str, Any]) -> Iterable[Event]:
        kind = record.get("type")
        if kind in ("assistant", "user"):
            return self._message(path, record, mapping(record.get("message")))
        if kind == "stream_event":
            self._delta(record, mapping(record.get("event")))
        if kind in ("result", "cost-state"):
            self._report(record)
        if kind == "result":
            return self.scribe.summary(_end(record))
        if kind == "system":
            return self._system(path, record)
        return ()

    def _message(self, path: str, record: dict[str, Any], message: dict[str, Any]) -> Iterable[Event]:
        subagent = bool(record.get("isSidechain") or record.get("parent_tool_use_id"))
        if record.get("type") == "assistant" and message.get("model") != SYNTHETIC:
            self._count(self._printed if path == OUTPUT else self._recorded, record, message)
            if not subagent:
                self.model = model_name(message.get("model")) or self.model
        for block in mappings(message.get("content")):
            yield from self._block(record, message, block, subagent=subagent)

    def _block(
        self, record: dict[str, Any], message: dict[str, Any], block: dict[str, Any], *, subagent: bool
    ) -> Iterable[Event]:
        kind, key = block.get("type"), text(block.get("id"))
        if kind == "tool_result":
            if self._is_new(kind, text(block.get("tool_use_id"))):
                is_error = block.get("is_error") is True
                yield from self.scribe.tool_result(block.get("content"), is_error=is_error, subagent=subagent)
        elif record.get("type") != "assistant":
            return  # What the user said is the task.
        elif kind in ("tool_use", "server_tool_use"):
            if self._is_new(kind, key):
                yield from self.scribe.tool_use(block.get("name"), block.get("input"), subagent=subagent)
        elif kind in ("text", "thinking"):
            said = text(block.get(kind))
            if self._is_new(kind, text(message.get("id")), said):
                yield from self.scribe.message(said, thinking=kind == "thinking", subagent=subagent)

    def _count(self, messages: Tally, record: dict[str, Any], message: dict[str, Any]) -> None:
        usage = message.get("usage")
        if isinstance(usage, dict):
            key = text(message.get("id")) or text(record.get("uuid")) or "message"
            messages.put(key, model_name(message.get("model")), _figures(usage))

    def _delta(self, record: dict[str, Any], event: dict[str, Any]) -> None:
        """With ``--include-partial-messages`` the final numbers of a message are printed as well."""
        key, usage = record.get("api_message_id"), event.get("usage")
        if event.get("type") == "message_delta" and isinstance(key, str) and isinstance(usage, dict):
            self._printed.put(key, self.model or UNNAMED, _figures(usage))

    def _report(self, record: dict[str, Any]) -> None:
        """The sums of a session, sub-agents included: in its last printed line, and in its file when it ends."""
        session = text(record.get("session_id")) or text(record.get("sessionId"))
        unknown = record.get("hasUnknownModelCost") is True
        models = mapping(record.get("modelUsage"))
        for name, usage in models.items():
            report = mapping(usage)
            cost = None if unknown or report.get("costBasis") == "unknown" else report.get("costUSD")
            figures = beside_cache(
                report.get("inputTokens"),
                report.get("cacheReadInputTokens"),
                report.get("cacheCreationInputTokens"),
                report.get("outputTokens"),
                cost,
            )
            self._reported.put((session, name), model_name(name), figures)
        if not models and isinstance(record.get("usage"), dict):
            # Releases without modelUsage: the main agent alone.
            figures = _figures(record["usage"])._replace(cost=price(record.get("total_cost_usd")))
            self._reported.put((session, ""), self.model or UNNAMED, figures)

    def _system(self, path: str, record: dict[str, Any]) -> Iterable[Event]:
        match record.get("subtype"):
            case "init":
                self.model = model_name(record.get("model")) or self.model
            case "api_retry":
                reason = as_text(record.get("error_status") or record.get("error"))
                attempt, most = as_text(record.get("attempt")), as_text(record.get("max_retries"))
                return self.scribe.summary(f"Request failed ({reason}): attempt {attempt} of {most}.")
            case "compact_boundary" if path == OUTPUT:
                return self.scribe.summary("The conversation was compacted.")
        return ()

    def _is_new(self, *key: str | None) -> bool:
        return key[-1] is None or self._seen.add(key)


def _figures(usage: dict[str, Any]) -> Figures:
    return beside_cache(
        usage.get("input_tokens"),
        usage.get("cache_read_input_tokens"),
        usage.get("cache_creation_input_tokens"),
        usage.get("output_tokens"),
    )


def _end(record: dict[str, Any]) -> str:
    turns = as_text(record.get("num_turns"))
    if record.get("is_error") is not True:
        return f"Ended after {turns} turns."
    reason = text(record.get("result")) or text(record.get("subtype")) or "no reason given"
    return f"Ended with an error after {turns} turns: {reason}"
