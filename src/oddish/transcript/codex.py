"""Codex: the lines it prints (``--json``), and its rollout files, which count every answered request.

Printed usage is the sum over the thread, resumed runs included, and comes at the end of a run that ended well; the
rollout has a record for each response. Harbor copies the rollout to the logs when the agent has ended.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from oddish.documents import mapping, mappings, text
from oddish.transcript.adapter import Source
from oddish.transcript.events import Event, Scribe
from oddish.transcript.lines import RecordAdapter
from oddish.transcript.seen import Seen
from oddish.transcript.usage import UNNAMED, Figures, Tally, Usage, model_name, with_cache

OUTPUT = "codex.txt"


class Codex(RecordAdapter):
    """Tokens: those of each response of the rollouts, or the printed sums where these are higher."""

    sources = (Source("sessions/*/*/*/rollout-*.jsonl"), Source(OUTPUT))
    homes = ("/installed-agent/codex-home",)

    def __init__(self, scribe: Scribe) -> None:
        super().__init__(scribe)
        self._responses = Tally()
        self._threads = Tally()
        self._thread: dict[str, str] = {}
        self._started = Seen()
        self._runs = Counter[str]()

    def restart(self, path: str) -> None:
        super().restart(path)
        self._thread.pop(path, None)
        self._runs[path] += 1

    def counted(self) -> Usage:
        responses, threads = self._responses.usage(), self._threads.usage()
        return threads if threads.tokens > responses.tokens else responses

    def record(self, path: str, record: dict[str, Any]) -> Iterable[Event]:
        kind = record.get("type")
        if path != OUTPUT:
            self._rollout(path, kind, mapping(record.get("payload")))
            return ()
        match kind:
            case "thread.started":
                self._thread[path] = text(record.get("thread_id")) or ""
            case "turn.completed":
                self._sum(path, record.get("usage"))
            case "turn.failed":
                return self.scribe.summary(f"Turn failed: {_message(record.get('error'))}")
            case "error":
                return self.scribe.summary(_message(record))
            case "item.started" | "item.completed":
                return self._item(path, mapping(record.get("item")), kind == "item.completed")
        return ()

    def _rollout(self, path: str, kind: object, payload: dict[str, Any]) -> None:
        match kind:
            case "session_meta":
                self._thread[path] = text(payload.get("id")) or ""
            case "turn_context" if payload.get("model"):
                self.model = model_name(payload.get("model"))
            case "token_usage_record":
                usage = mapping(payload.get("usage"))
                key = (text(payload.get("thread_id")), text(payload.get("response_id")))
                self._responses.put(key, self.model or UNNAMED, _figures(usage))
            case "event_msg" if payload.get("type") == "token_count":
                # Repeated without a new response, so that only the sum can be trusted.
                self._sum(path, mapping(payload.get("info")).get("total_token_usage"))

    def _sum(self, path: str, usage: object) -> None:
        if not isinstance(usage, dict):
            return
        thread = self._thread.get(path) or (path, self._runs[path])
        self._threads.put(thread, self.model or UNNAMED, _figures(usage))

    def _item(self, path: str, item: dict[str, Any], completed: bool) -> Iterable[Event]:
        kind = text(item.get("type")) or "unknown"
        match kind:
            case "agent_message":
                return self.scribe.message(item.get("text")) if completed else ()
            case "reasoning":
                return self.scribe.message(item.get("text"), thinking=True) if completed else ()
            case "error":
                return self.scribe.summary(_message(item)) if completed else ()
            case "todo_list":
                return self.scribe.summary(_todo(item)) if completed else ()
        events: list[Event] = []
        if self._started.add((path, self._runs[path], text(item.get("id")))):
            events += self.scribe.tool_use(_tool(kind, item), _arguments(kind, item))
        if completed:
            events += self.scribe.tool_result(_result(kind, item), is_error=item.get("status") == "failed")
        return events


def _figures(usage: dict[str, Any]) -> Figures:
    return with_cache(
        usage.get("input_tokens"),
        usage.get("cached_input_tokens"),
        usage.get("cache_write_input_tokens"),
        usage.get("output_tokens"),
    )


def _tool(kind: str, item: dict[str, Any]) -> str:
    if kind == "mcp_tool_call":
        return f"{text(item.get('server')) or 'mcp'}.{text(item.get('tool')) or 'tool'}"
    return kind


def _arguments(kind: str, item: dict[str, Any]) -> object:
    match kind:
        case "command_execution":
            return {"command": item.get("command")}
        case "file_change":
            return {"changes": item.get("changes")}
        case "web_search":
            return {"query": item.get("query")}
    if "arguments" in item:
        return item["arguments"]
    return {name: value for name, value in item.items() if name not in ("id", "type", "status", "result", "error")}


def _result(kind: str, item: dict[str, Any]) -> object:
    match kind:
        case "command_execution":
            output, code = text(item.get("aggregated_output")) or "", item.get("exit_code")
            return output if code in (0, None) else f"{output.rstrip()}\nexit code {code}".lstrip()
        case "file_change" | "web_search":
            return text(item.get("status")) or "done"
    failure = item.get("error")
    return _message(failure) if failure else item.get("result")


def _message(error: object) -> str:
    return text(mapping(error).get("message")) or "no reason given"


def _todo(item: dict[str, Any]) -> str:
    steps = (
        f"[{'x' if step.get('completed') is True else ' '}] {step.get('text')}" for step in mappings(item.get("items"))
    )
    return "\n".join(("Plan:", *steps))
