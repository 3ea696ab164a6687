"""Terminus 2: its trajectory (ATIF), rewritten after every step, and those of its summaries and continuations.

Harbor writes these files on its own side, so that they are there whatever the environment.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from oddish.documents import mapping, mappings, sequence
from oddish.toolcalls import is_own
from oddish.transcript.adapter import Source
from oddish.transcript.events import Event, Scribe, as_text
from oddish.transcript.snapshots import SnapshotAdapter
from oddish.transcript.usage import UNNAMED, Figures, Tally, Usage, model_name, with_cache

SUMMARIES = "trajectory.summarization-"


class Terminus2(SnapshotAdapter):
    """Tokens and cost: those of each step that is not copied from another trajectory, or the final ones if higher."""

    sources = (
        Source("trajectory.json", rewritten=True),
        Source("trajectory.cont-*.json", rewritten=True),
        Source(f"{SUMMARIES}*.json", rewritten=True),
    )

    def __init__(self, scribe: Scribe) -> None:
        super().__init__(scribe)
        self._final = Tally()

    def counted(self) -> Usage:
        steps, final = self._steps.usage(), self._final.usage()
        return steps if steps.known and steps.tokens >= final.tokens else final

    def steps(self, document: dict[str, Any]) -> Iterable[object]:
        return sequence(document.get("steps"))

    def identity(self, step: dict[str, Any]) -> Hashable:
        return as_text([step.get("step_id"), step.get("timestamp"), step.get("source")])

    def figures(
        self, path: str, document: dict[str, Any], steps: list[dict[str, Any]]
    ) -> Iterator[tuple[str, Figures]]:
        agent_model = model_name(mapping(document.get("agent")).get("model_name"))
        sums: dict[str, Figures] = {}
        for step in steps:
            metrics = mapping(step.get("metrics"))
            if metrics and is_own(step):
                model = model_name(step.get("model_name")) or agent_model
                figures = with_cache(
                    metrics.get("prompt_tokens"),
                    metrics.get("cached_tokens"),
                    0,
                    metrics.get("completion_tokens"),
                    metrics.get("cost_usd"),
                )
                sums[model] = sums[model].plus(figures) if model in sums else figures
        if not path.startswith(SUMMARIES):
            self.model = next(reversed(sums), agent_model) or self.model
            self._finish(mapping(document.get("final_metrics")))
        yield from sums.items()

    def _finish(self, final: dict[str, Any]) -> None:
        """While it runs these are the sums of the main agent, at the end those of its summaries as well."""
        figures = with_cache(
            final.get("total_prompt_tokens"),
            final.get("total_cached_tokens"),
            0,
            final.get("total_completion_tokens"),
            final.get("total_cost_usd"),
        )
        self._final.put("final", self.model or UNNAMED, figures)

    def step(self, path: str, step: dict[str, Any]) -> Iterable[Event]:
        if not is_own(step):
            return
        subagent = path.startswith(SUMMARIES)
        message = as_text(step.get("message"))
        if step.get("source") == "system":
            yield from self.scribe.summary(message)
        if step.get("source") != "agent":
            return
        yield from self.scribe.message(step.get("reasoning_content"), thinking=True, subagent=subagent)
        yield from self.scribe.message(message, subagent=subagent)
        for call in mappings(step.get("tool_calls")):
            yield from self.scribe.tool_use(call.get("function_name"), call.get("arguments"), subagent=subagent)
        for result in mappings(mapping(step.get("observation")).get("results")):
            if result.get("content"):
                yield from self.scribe.tool_result(result.get("content"), subagent=subagent)
