"""The trace of an attempt that has ended, from what is recorded of it. Pure.

Figures of the whole attempt have names of their own, ``oddish.*``: who adds up ``gen_ai.usage.*`` over the spans counts
each call of a model once.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from oddish.documents import moment, text
from oddish.engine.results import Timing, TrialFacts
from oddish.outcome import Outcome
from oddish.tracing.conversation import Reader, model_attributes
from oddish.tracing.spans import Clean, Period, Span, Trace, Value
from oddish.trials.recording import Report, error_message
from oddish.trials.spec import TrialSpec

AGENT_PHASE = "agent_execution"

type Trajectory = Callable[[str | None], Iterable[Mapping[str, Any]]]
"""The documents of the trajectory of a step, or of the trial where it has no steps."""


def trace(
    spec: TrialSpec,
    attempt: int,
    period: Period,
    facts: TrialFacts,
    outcome: Outcome,
    report: Report,
    trajectory: Trajectory,
    *,
    redact: Callable[[str], str],
    contents: bool,
) -> Trace:
    """Of the attempt that ran in ``period``. ``contents``: with what was said, not only that something was."""
    clean = Clean(redact)
    reader = Reader(spec.model, clean, contents)
    phases = _Phases(spec, reader, trajectory, clean)
    failure = report.failure or {}
    failed_in, error = text(failure.get("phase")), clean.name(str(failure.get("type") or outcome.status))
    inner = phases.of(facts.timing, period, None if facts.steps else "", failed_in, error)
    for step in facts.steps:
        ended = step.exception
        raised = clean.name(ended.type) if ended else None
        within = phases.of(step.timing, period, step.name, ended.phase if ended else None, raised)
        if within:
            whole = Period(min(span.period.start for span in within), max(span.period.end for span in within))
            name = clean.name(step.name)
            inner.append(Span(f"step {name}", whole, {"oddish.step": name}, within, raised))
    attributes = _of_attempt(spec, attempt, outcome, report)
    attributes["oddish.reasons"] = [clean.name(reason) for reason in outcome.reasons]
    if reader.left_out:
        attributes["oddish.calls_left_out"] = reader.left_out
    root = Span(f"trial {spec.task_name}", period, attributes, inner)
    if not outcome.usable:
        root = replace(root, error=error, message=clean.content(error_message(outcome, report) or ""))
    return Trace(spec.trial_id, _everywhere(spec), root)


class _Phases:
    def __init__(self, spec: TrialSpec, reader: Reader, trajectory: Trajectory, clean: Clean) -> None:
        self._spec = spec
        self._reader = reader
        self._trajectory = trajectory
        self._clean = clean

    def of(
        self, timing: Mapping[str, Timing], within: Period, step: str | None, failed_in: str | None, error: str | None
    ) -> list[Span]:
        """Of a trial or one of its steps; ``step`` is empty for a trial without steps, None for one that has some."""
        spans = []
        for phase, times in timing.items():
            start, end = moment(times.started_at), moment(times.finished_at)
            if start is None:
                continue
            first = within.within(start)
            period = Period(first, max(first, within.end if end is None else within.within(end)))
            failed = error if phase == failed_in else None
            if phase == AGENT_PHASE:
                inner = [] if step is None else self._reader.calls(self._trajectory(step or None), period)
                spans.append(Span(f"invoke_agent {self._spec.agent}", period, self._of_agent(), inner, failed))
            else:
                spans.append(Span(phase, period, {"oddish.phase": phase}, error=failed))
        return spans

    def _of_agent(self) -> dict[str, Value]:
        return {
            "oddish.phase": AGENT_PHASE,
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": self._spec.agent,
            **model_attributes(self._spec.model),
        }


def _everywhere(spec: TrialSpec) -> dict[str, Value]:
    common: dict[str, Value] = {
        "session.id": spec.experiment_id,
        "oddish.trial.id": spec.trial_id,
        "oddish.experiment.id": spec.experiment_id,
    }
    if spec.correlation_id:
        common["oddish.correlation_id"] = spec.correlation_id
        common["langfuse.trace.metadata.correlation_id"] = spec.correlation_id
    return common


def _of_attempt(spec: TrialSpec, attempt: int, outcome: Outcome, report: Report) -> dict[str, Value]:
    spending = report.spending
    known: dict[str, Value | None] = {
        "oddish.task.name": spec.task_name,
        "oddish.agent": spec.agent,
        "oddish.model": spec.model,
        "oddish.environment": spec.environment,
        "oddish.attempt": attempt,
        "oddish.status": outcome.status,
        "oddish.reward": outcome.reward,
        "oddish.input_tokens": spending.input_tokens,
        "oddish.cache_tokens": spending.cache_tokens,
        "oddish.output_tokens": spending.output_tokens,
        "oddish.cost_usd": spending.cost_usd,
    }
    return {name: value for name, value in known.items() if value is not None}
