"""A finished trial as its Harbor ``result.json`` records it, for a cell of a dataset. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from oddish.documents import finite_number, mapping, mappings, moment, text
from oddish.outcome import AttemptFacts, RecordedException, primary_reward
from oddish.viewer.fields import without_nothing
from oddish.viewer.summaries import SEPARATOR

NO_MODEL = "none"
"""The model of agents that have none, such as oracle."""
UNKNOWN = "unknown"
_EXCEPTION_LIMIT = 4000


@dataclass(frozen=True, slots=True)
class TrialResult:
    model: str
    harness: str
    reward: float | None
    """The primary one as Harbor recorded it, whatever happened beside it; None when there is none."""
    elapsed_sec: float | None
    """While the agent ran."""
    started_at: float
    """Seconds since 1970; 0 when unknown."""
    steps: tuple[str, ...] = ()
    """Names of the steps of a task that has some."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """``rewards`` when there are several, ``exceptions``."""
    facts: AttemptFacts = field(default_factory=lambda: AttemptFacts("done"))
    """By which policies judge it."""


def read_result(document: Mapping[str, Any]) -> TrialResult:
    config = mapping(document.get("config"))
    agent = mapping(config.get("agent"))
    info = mapping(document.get("agent_info"))
    model = mapping(info.get("model_info"))
    named = "/".join(filter(None, (text(model.get("provider")), text(model.get("name")))))
    recorded = mapping(mapping(document.get("verifier_result")).get("rewards"))
    rewards = {name: number for name, value in recorded.items() if (number := finite_number(value)) is not None}
    reward, _ = primary_reward(rewards)
    steps = mappings(document.get("step_results"))
    exceptions = tuple(_exceptions([document, *steps]))
    return TrialResult(
        model=text(agent.get("model_name")) or named or NO_MODEL,
        harness=(text(info.get("name")) or text(agent.get("name")) or UNKNOWN).replace(SEPARATOR, "/"),
        reward=reward,
        elapsed_sec=_elapsed(document, steps),
        started_at=moment(document.get("started_at")) or 0.0,
        steps=tuple(name for step in steps if (name := text(step.get("step_name")))),
        extra=without_nothing(
            rewards=rewards if len(rewards) > 1 else None,
            exceptions=[{"type": raised.type, "message": raised.message} for raised in exceptions],
        ),
        facts=AttemptFacts(
            "done",
            rewards=rewards or None,
            exceptions=exceptions,
            verifier_disabled=mapping(config.get("verifier")).get("disable") is True
            or config.get("install_only") is True,
        ),
    )


def _elapsed(document: Mapping[str, Any], steps: list[dict[str, Any]]) -> float | None:
    found = [
        ended - began
        for part in (document, *steps)
        if (began := moment(mapping(part.get("agent_execution")).get("started_at"))) is not None
        and (ended := moment(mapping(part.get("agent_execution")).get("finished_at"))) is not None
    ]
    return round(max(0.0, sum(found)), 3) if found else None


def _exceptions(parts: list[Mapping[str, Any]]) -> Iterator[RecordedException]:
    for part in parts:
        raised = mapping(part.get("exception_info"))
        if (kind := text(raised.get("exception_type"))) is not None:
            message = (text(raised.get("exception_message")) or "")[:_EXCEPTION_LIMIT]
            flag = mapping(raised.get("policy")).get("has_valid_reward")
            yield RecordedException(kind, message, None, has_valid_reward=flag if isinstance(flag, bool) else None)
