"""Lenient reader of a Harbor trial directory. No Harbor here: plain JSON into frozen facts.

The directory may be unfinished, damaged or hostile: every member is taken only if it has the expected shape.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oddish.documents import (
    Problem,
    finite_number,
    is_file,
    mapping,
    mappings,
    moment,
    read_object,
    text,
    whole_number,
)
from oddish.engine.protocol import Done
from oddish.outcome import RESULT_UNREADABLE, AttemptFacts, Ending, RecordedException

RESULT_LIMIT = 64 * 1024 * 1024
MESSAGE_LIMIT = 16 * 1024
PHASES = ("environment_setup", "agent_setup", "agent_execution", "verifier")


@dataclass(frozen=True, slots=True)
class Timing:
    """When a phase ran: ISO 8601 as Harbor wrote it, None where it did not."""

    started_at: str | None
    finished_at: str | None


@dataclass(frozen=True, slots=True)
class Usage:
    """What the agent reported; None where it reported nothing."""

    input_tokens: int | None = None
    """Cached ones included."""
    cache_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class StepFacts:
    """One step of a multi-step trial."""

    name: str
    rewards: Mapping[str, float] | None
    exception: RecordedException | None
    timing: Mapping[str, Timing]
    usage: Usage


@dataclass(frozen=True, slots=True)
class TrialFacts:
    """What a trial directory says."""

    problem: Problem | None = None
    """Set when there is no usable ``result.json``: everything else is then empty, except ``has_trajectory``."""
    task_name: str | None = None
    agent: str | None = None
    """The name it gives itself."""
    model: str | None = None
    """``provider/name``, or the name alone."""
    rewards: Mapping[str, float] | None = None
    exceptions: tuple[RecordedException, ...] = ()
    """The trial's own first, then those of its steps."""
    reward_valid: bool | None = None
    """As Harbor recorded it, before any override."""
    started_at: str | None = None
    finished_at: str | None = None
    timing: Mapping[str, Timing] = field(default_factory=dict)
    """Phase -> times, for the phases that began."""
    steps: tuple[StepFacts, ...] = ()
    usage: Usage = field(default_factory=Usage)
    """Of the whole trial, steps added up."""
    has_trajectory: bool = False
    verifier_disabled: bool = False


def read_trial(directory: Path) -> TrialFacts:
    """The facts of a trial directory, whatever state it is in. Never raises for what it finds there."""
    document, problem = read_object(directory, "result.json", RESULT_LIMIT)
    if problem is not None:
        return TrialFacts(problem=problem, has_trajectory=has_trajectory(directory, ()))
    trial_timing = timing(document)
    steps = tuple(step_facts(item) for item in mappings(document.get("step_results")))
    own = exception(document.get("exception_info"), trial_timing)
    of_agent = document.get("agent_result")
    usages = [usage(of_agent)] if of_agent is not None else [step.usage for step in steps]
    valid = document.get("reward_valid")
    config = mapping(document.get("config"))
    agent = mapping(document.get("agent_info"))
    return TrialFacts(
        task_name=text(document.get("task_name")),
        agent=text(agent.get("name")),
        model=model_name(agent.get("model_info")),
        rewards=rewards(document.get("verifier_result")),
        exceptions=tuple(item for item in (own, *(step.exception for step in steps)) if item is not None),
        reward_valid=valid if isinstance(valid, bool) else None,
        started_at=text(document.get("started_at")),
        finished_at=text(document.get("finished_at")),
        timing=trial_timing,
        steps=steps,
        usage=add_up(usages),
        has_trajectory=has_trajectory(directory, tuple(step.name for step in steps)),
        verifier_disabled=mapping(config.get("verifier")).get("disable") is True or config.get("install_only") is True,
    )


def attempt_facts(
    trial: TrialFacts | None, done: Done | None, ending: Ending, reported_tests: int | None = None
) -> AttemptFacts:
    """Join what the directory says with how the attempt ended, for ``oddish.outcome.judge``.

    ``trial`` is None when no directory came to be, ``done`` when none was received (then ``ending`` is not ``done``),
    ``reported_tests`` when the verifier left no test report.
    """
    trial = trial or TrialFacts(problem="missing")
    exceptions = trial.exceptions
    failure = done["failure"] if done is not None else None
    if failure is not None and failure["type"] not in {item.type for item in exceptions}:
        reported = RecordedException(failure["type"], failure["message"], failure["phase"], failure["occurred_at"])
        exceptions = (reported, *(item for item in exceptions if item.type != "CancelledError"))
    elif done is not None and trial.problem is not None and failure is None:
        exceptions = (RecordedException(RESULT_UNREADABLE, f"result.json is {trial.problem}.", None),)
    return AttemptFacts(
        ending=ending,
        cancelled=done is not None and done["cancelled"],
        rewards=trial.rewards,
        exceptions=exceptions,
        verifier_disabled=trial.verifier_disabled,
        engine_reward_valid=trial.reward_valid,
        reported_tests=reported_tests,
    )


def agent_seconds(trial: TrialFacts | None) -> float | None:
    """How long the agent worked, steps added up; None where that is not recorded."""
    if trial is None:
        return None
    timings = [step.timing for step in trial.steps] or [trial.timing]
    ran = [times["agent_execution"] for times in timings if "agent_execution" in times]
    spans = [(moment(times.started_at), moment(times.finished_at)) for times in ran]
    seconds = [end - start for start, end in spans if start is not None and end is not None and end >= start]
    return round(sum(seconds), 6) if seconds else None


def step_facts(document: dict[str, Any]) -> StepFacts:
    """One entry of ``step_results``."""
    times = timing(document)
    return StepFacts(
        name=text(document.get("step_name")) or "",
        rewards=rewards(document.get("verifier_result")),
        exception=exception(document.get("exception_info"), times),
        timing=times,
        usage=usage(document.get("agent_result")),
    )


def rewards(verifier_result: object) -> Mapping[str, float] | None:
    """The finite numbers by name; None when there are none."""
    found = {
        name: number
        for name, value in mapping(mapping(verifier_result).get("rewards")).items()
        if (number := finite_number(value)) is not None
    }
    return found or None


def model_name(model_info: object) -> str | None:
    """A ``model_info`` as ``provider/name``, or the name alone when no provider is recorded."""
    document = mapping(model_info)
    name, provider = text(document.get("name")), text(document.get("provider"))
    return f"{provider}/{name}" if name and provider else name


def exception(info: object, times: Mapping[str, Timing]) -> RecordedException | None:
    """An ``exception_info``, placed in the phase that had begun last when it occurred."""
    document = mapping(info)
    name = text(document.get("exception_type"))
    if name is None:
        return None
    occurred_at = text(document.get("occurred_at"))
    occurred = moment(occurred_at)
    begun = [
        phase
        for phase in PHASES
        if phase in times
        and (started := moment(times[phase].started_at)) is not None
        and (occurred is None or started <= occurred)
    ]
    flag = mapping(document.get("policy")).get("has_valid_reward")
    return RecordedException(
        type=name,
        message=shortened(text(document.get("exception_message")) or ""),
        phase=begun[-1] if begun else None,
        occurred_at=occurred_at,
        has_valid_reward=flag if isinstance(flag, bool) else None,
    )


def shortened(message: str) -> str:
    """At most ``MESSAGE_LIMIT`` characters of a message and a note, from its two ends."""
    half = MESSAGE_LIMIT // 2
    return message if len(message) <= MESSAGE_LIMIT else f"{message[:half]}\n[...]\n{message[-half:]}"


def timing(document: Mapping[str, Any]) -> Mapping[str, Timing]:
    """The phases that began."""
    found = {phase: mapping(document.get(phase)) for phase in PHASES}
    return {
        phase: Timing(text(times.get("started_at")), text(times.get("finished_at")))
        for phase, times in found.items()
        if times
    }


def usage(agent_result: object) -> Usage:
    """The token counts and cost of an ``agent_result``."""
    document = mapping(agent_result)
    return Usage(
        input_tokens=whole_number(document.get("n_input_tokens")),
        cache_tokens=whole_number(document.get("n_cache_tokens")),
        output_tokens=whole_number(document.get("n_output_tokens")),
        cost_usd=finite_number(document.get("cost_usd")),
    )


def add_up(usages: list[Usage]) -> Usage:
    """The sum, None where no part reported anything or the sum is out of range."""

    def tokens(parts: list[int | None]) -> int | None:
        known = [part for part in parts if part is not None]
        return whole_number(sum(known)) if known else None

    costs = [item.cost_usd for item in usages if item.cost_usd is not None]
    return Usage(
        tokens([item.input_tokens for item in usages]),
        tokens([item.cache_tokens for item in usages]),
        tokens([item.output_tokens for item in usages]),
        finite_number(sum(costs)) if costs else None,
    )


def has_trajectory(directory: Path, steps: tuple[str, ...]) -> bool:
    """Whether there is an ATIF trajectory, at the top or in a step."""
    places = ("agent/trajectory.json", *(f"steps/{name}/agent/trajectory.json" for name in steps))
    return any(is_file(directory, place) for place in places)
