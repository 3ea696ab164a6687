"""The calls of models and tools in a trajectory: ATIF, read leniently, as spans of the GenAI conventions. Pure.

A trajectory says when a step was over and not when it began, so a call of a model lasts from the step before it, and
a call of a tool is a moment. Names of attributes: OpenTelemetry's semantic conventions for generative AI.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oddish.documents import mapping, mappings, moment, text, whole_number
from oddish.queue.keys import normalise_model
from oddish.toolcalls import is_own
from oddish.tracing.spans import Clean, Period, Span, Value
from oddish.transcript.events import as_text

MAX_CALLS = 2000
"""Spans of one attempt; what an agent does after that is left out."""
PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
"""How the conventions call those whom we call otherwise."""
USAGE = {
    "prompt_tokens": "gen_ai.usage.input_tokens",
    "completion_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
}


@dataclass
class Reader:
    """Reads the trajectories of one attempt."""

    model: str | None
    """That was asked for: ``provider/model``."""
    clean: Clean
    contents: bool
    """Whether what was said is told as well."""
    left_out: int = 0
    """Calls beyond ``MAX_CALLS``."""
    _read: int = 0

    def calls(self, documents: Iterable[Mapping[str, Any]], period: Period) -> list[Span]:
        """The calls in the documents of one trajectory, none of them outside of ``period``."""
        spans: list[Span] = []
        for span in self._all(documents, period):
            if self._read < MAX_CALLS:
                self._read += 1
                spans.append(span)
            else:
                self.left_out += 1
        return spans

    def _all(self, documents: Iterable[Mapping[str, Any]], period: Period) -> Iterator[Span]:
        before, said = period.start, list[dict[str, Any]]()
        for document in documents:
            default = text(mapping(document.get("agent")).get("model_name"))
            for step in filter(is_own, mappings(document.get("steps"))):
                at = moment(step.get("timestamp"))
                turn = Period(before, before if at is None else max(before, period.within(at)))
                before = turn.end
                if step.get("source") != "agent":
                    said.append(self._message(step))
                    continue
                # An agent may act by rules of its own, without asking a model.
                if step.get("llm_call_count") != 0:
                    yield self._model_call(step, turn, text(step.get("model_name")) or default, said)
                    said.clear()
                yield from self._tool_calls(step, Period(turn.end, turn.end))

    def _model_call(
        self, step: Mapping[str, Any], turn: Period, answered: str | None, said: Sequence[dict[str, Any]]
    ) -> Span:
        model = self.clean.name(answered or self.model or "")
        attributes: dict[str, Value] = {"gen_ai.operation.name": "chat", **model_attributes(model, self.model)}
        metrics = mapping(step.get("metrics"))
        attributes |= {
            name: count for key, name in USAGE.items() if (count := whole_number(metrics.get(key))) is not None
        }
        if self.contents:
            finish = "tool_call" if mappings(step.get("tool_calls")) else "stop"
            attributes["gen_ai.output.messages"] = json.dumps([self._message(step) | {"finish_reason": finish}])
            if said:
                attributes["gen_ai.input.messages"] = json.dumps(said)
        return Span(f"chat {model}".strip(), turn, attributes, kind="client")

    def _tool_calls(self, step: Mapping[str, Any], at: Period) -> Iterator[Span]:
        results = {
            text(result.get("source_call_id")): result.get("content")
            for result in mappings(mapping(step.get("observation")).get("results"))
        }
        for call in mappings(step.get("tool_calls")):
            name, key = self.clean.name(text(call.get("function_name")) or ""), text(call.get("tool_call_id"))
            attributes: dict[str, Value] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
            if key:
                attributes["gen_ai.tool.call.id"] = self.clean.name(key)
            if self.contents:
                given = call.get("arguments")
                attributes["gen_ai.tool.call.arguments"] = self.clean.content(as_text(given))
                if key in results:
                    attributes["gen_ai.tool.call.result"] = self.clean.content(as_text(results[key]))
            yield Span(f"execute_tool {name}".strip(), at, attributes)

    def _message(self, step: Mapping[str, Any]) -> dict[str, Any]:
        if not self.contents:
            return {}
        thought = text(step.get("reasoning_content"))
        parts = [{"type": "reasoning", "content": self.clean.content(thought)}] if thought else []
        parts.append({"type": "text", "content": self.clean.content(as_text(step.get("message")))})
        return {"role": {"system": "system", "agent": "assistant"}.get(str(step.get("source")), "user"), "parts": parts}


def model_attributes(model: str | None, asked: str | None = None) -> dict[str, Value]:
    """What names a model, and its provider where that is known from its name or from that of the one asked for."""
    if not model:
        return {}
    found = [normalise_model(name) or "" for name in (model, asked)]
    provider = next((name.partition("/")[0] for name in found if "/" in name), None)
    named: dict[str, Value] = {"gen_ai.request.model": model}
    return named | ({"gen_ai.provider.name": PROVIDERS.get(provider, provider)} if provider else {})
