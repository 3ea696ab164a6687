"""mini-swe-agent: its trajectory, rewritten after every step. What it prints is laid out for people and not read.

A call whose command was interrupted is not in the trajectory: it is written after the step.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from oddish.documents import mapping, mappings, sequence, text
from oddish.transcript.adapter import Source
from oddish.transcript.events import Event, as_text
from oddish.transcript.snapshots import SnapshotAdapter
from oddish.transcript.usage import UNNAMED, Figures, model_name, with_cache

NOT_EXECUTED = "action was not executed"
"""Said of the command that ends the run."""


class MiniSweAgent(SnapshotAdapter):
    """Tokens and cost: those of each answer, of the chat completions API or of the Responses API."""

    sources = (Source("mini-swe-agent.trajectory.json", rewritten=True),)

    def steps(self, document: dict[str, Any]) -> Iterable[object]:
        return sequence(document.get("messages"))

    def identity(self, step: dict[str, Any]) -> Hashable:
        written_at = mapping(step.get("extra")).get("timestamp")
        return as_text([step.get("role"), step.get("id"), step.get("content"), written_at])

    def figures(
        self, path: str, document: dict[str, Any], steps: list[dict[str, Any]]
    ) -> Iterator[tuple[str, Figures]]:
        sums: dict[str, Figures] = {}
        for step in steps:
            usage = _usage(step)
            if usage:
                model, figures = model_name(_response(step).get("model")), _figures(usage, step)
                sums[model] = sums[model].plus(figures) if model in sums else figures
                self.model = model or self.model
        if not sums and document.get("info"):
            sums[self.model or UNNAMED] = Figures(0, 0, 0, 0)
        yield from sums.items()

    def step(self, path: str, step: dict[str, Any]) -> Iterable[Event]:
        extra = mapping(step.get("extra"))
        if step.get("object") == "response":
            yield from self._output(step)
        elif step.get("role") == "assistant":
            yield from self.scribe.message(step.get("reasoning_content"), thinking=True)
            yield from self.scribe.message(as_text(step.get("content")))
            for call in mappings(step.get("tool_calls")):
                function = mapping(call.get("function"))
                yield from self.scribe.tool_use(function.get("name"), function.get("arguments"))
        elif step.get("role") == "tool" or step.get("type") == "function_call_output":
            said = text(extra.get("exception_info")) or ""
            printed = text(extra.get("raw_output"))
            shown = step.get("output") or step.get("content") if printed is None else printed or said
            failed = extra.get("returncode") not in (0, None) and said != NOT_EXECUTED
            yield from self.scribe.tool_result(shown, is_error=failed)
        elif step.get("role") == "exit":
            yield from self.scribe.summary(f"Ended: {text(extra.get('exit_status')) or 'no reason given'}.")

    def _output(self, response: dict[str, Any]) -> Iterable[Event]:
        for item in mappings(response.get("output")):
            match item.get("type"):
                case "reasoning":
                    yield from self.scribe.message(as_text(item.get("summary")), thinking=True)
                case "message":
                    yield from self.scribe.message(as_text(item.get("content")))
                case "function_call":
                    yield from self.scribe.tool_use(item.get("name"), item.get("arguments"))


def _response(step: dict[str, Any]) -> dict[str, Any]:
    return step if step.get("object") == "response" else mapping(mapping(step.get("extra")).get("response"))


def _usage(step: dict[str, Any]) -> dict[str, Any]:
    return mapping(_response(step).get("usage"))


def _figures(usage: dict[str, Any], step: dict[str, Any]) -> Figures:
    details = mapping(usage.get("prompt_tokens_details")) or mapping(usage.get("input_tokens_details"))
    written = details.get("cache_creation_tokens") or usage.get("cache_creation_input_tokens")
    return with_cache(
        usage.get("prompt_tokens") or usage.get("input_tokens"),
        details.get("cached_tokens"),
        written,
        usage.get("completion_tokens") or usage.get("output_tokens"),
        mapping(step.get("extra")).get("cost"),
    )
