"""Lenient reader of a Harbor trial directory. No Harbor here: plain JSON into frozen facts.

The directory was written next to untrusted code and may be unfinished, damaged or hostile: symbolic links are never
followed, sizes are capped, and every member is taken only if it has the expected shape.
"""

import json
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from oddish.engine.protocol import Done
from oddish.outcome import RESULT_UNREADABLE, AttemptFacts, Ending, RecordedException

RESULT_LIMIT = 64 * 1024 * 1024
MESSAGE_LIMIT = 16 * 1024
MAX_CONTAINERS = 1_000_000
"""Objects and lists in one document. Parsed, they take up to thirty times their size in the file."""
MAX_MEMBERS = 8_000_000
COUNT_LIMIT = 2**63 - 1
PHASES = ("environment_setup", "agent_setup", "agent_execution", "verifier")

type Problem = Literal["missing", "refused", "too_large", "malformed"]
"""Why a file cannot be used. ``refused``: a link, a device or not readable. ``too_large``: in bytes or members."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
    document, problem = read_json(directory, "result.json", RESULT_LIMIT)
    if problem is None and not isinstance(document, dict):
        problem = "malformed"
    if problem is not None:
        return TrialFacts(problem=problem, has_trajectory=has_trajectory(directory, ()))
    trial_timing = timing(document)
    steps = tuple(step_facts(item) for item in _list(document.get("step_results")) if isinstance(item, dict))
    own = exception(document.get("exception_info"), trial_timing)
    usages = [usage(document.get("agent_result"))] if document.get("agent_result") else [step.usage for step in steps]
    valid = document.get("reward_valid")
    config = _dict(document.get("config"))
    return TrialFacts(
        rewards=rewards(document.get("verifier_result")),
        exceptions=tuple(item for item in (own, *(step.exception for step in steps)) if item is not None),
        reward_valid=valid if isinstance(valid, bool) else None,
        started_at=_text(document.get("started_at")),
        finished_at=_text(document.get("finished_at")),
        timing=trial_timing,
        steps=steps,
        usage=add_up(usages),
        has_trajectory=has_trajectory(directory, tuple(step.name for step in steps)),
        verifier_disabled=_dict(config.get("verifier")).get("disable") is True or config.get("install_only") is True,
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


def step_facts(document: dict[str, Any]) -> StepFacts:
    """One entry of ``step_results``."""
    times = timing(document)
    return StepFacts(
        name=_text(document.get("step_name")) or "",
        rewards=rewards(document.get("verifier_result")),
        exception=exception(document.get("exception_info"), times),
        timing=times,
        usage=usage(document.get("agent_result")),
    )


def rewards(verifier_result: object) -> Mapping[str, float] | None:
    """The finite numbers by name; None when there are none."""
    found = {
        name: number
        for name, value in _dict(_dict(verifier_result).get("rewards")).items()
        if (number := _number(value)) is not None
    }
    return found or None


def exception(info: object, times: Mapping[str, Timing]) -> RecordedException | None:
    """An ``exception_info``, placed in the phase that had begun last when it occurred."""
    document = _dict(info)
    name = _text(document.get("exception_type"))
    if name is None:
        return None
    occurred_at = _text(document.get("occurred_at"))
    occurred = moment(occurred_at)
    begun = [
        phase
        for phase in PHASES
        if phase in times
        and (started := moment(times[phase].started_at)) is not None
        and (occurred is None or started <= occurred)
    ]
    flag = _dict(document.get("policy")).get("has_valid_reward")
    return RecordedException(
        type=name,
        message=shortened(_text(document.get("exception_message")) or ""),
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
    found = {phase: _dict(document.get(phase)) for phase in PHASES}
    return {
        phase: Timing(_text(times.get("started_at")), _text(times.get("finished_at")))
        for phase, times in found.items()
        if times
    }


def usage(agent_result: object) -> Usage:
    """The token counts and cost of an ``agent_result``."""
    document = _dict(agent_result)
    return Usage(
        input_tokens=_count(document.get("n_input_tokens")),
        cache_tokens=_count(document.get("n_cache_tokens")),
        output_tokens=_count(document.get("n_output_tokens")),
        cost_usd=_number(document.get("cost_usd")),
    )


def add_up(usages: list[Usage]) -> Usage:
    """The sum, None where no part reported anything or the sum is out of range."""

    def tokens(parts: list[int | None]) -> int | None:
        known = [part for part in parts if part is not None]
        return _count(sum(known)) if known else None

    costs = [item.cost_usd for item in usages if item.cost_usd is not None]
    return Usage(
        tokens([item.input_tokens for item in usages]),
        tokens([item.cache_tokens for item in usages]),
        tokens([item.output_tokens for item in usages]),
        _number(sum(costs)) if costs else None,
    )


def moment(timestamp: object) -> float | None:
    """Seconds since 1970 of an ISO 8601 time, taken as UTC without a zone; None for anything else."""
    if not isinstance(timestamp, str):
        return None
    try:
        read = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return ((read if read.tzinfo else read.replace(tzinfo=UTC)) - _EPOCH).total_seconds()


def has_trajectory(directory: Path, steps: tuple[str, ...]) -> bool:
    """Whether there is an ATIF trajectory, at the top or in a step."""
    places = ("agent/trajectory.json", *(f"steps/{name}/agent/trajectory.json" for name in steps))
    for place in places:
        try:
            os.close(open_below(directory, place))
        except OSError:
            continue
        return True
    return False


def read_json(directory: Path, relative: str, limit: int) -> tuple[Any, Problem | None]:
    """The JSON document in a file of at most ``limit`` bytes, or what is wrong with it."""
    try:
        with os.fdopen(open_below(directory, relative), "rb") as file:
            content = file.read(limit + 1)
    except FileNotFoundError:
        return None, "missing"
    except OSError:
        return None, "refused"
    containers = content.count(b"{") + content.count(b"[")
    if len(content) > limit or containers > MAX_CONTAINERS or content.count(b",") > MAX_MEMBERS:
        return None, "too_large"
    try:
        return json.loads(content), None
    except (ValueError, RecursionError):
        return None, "malformed"


def open_below(directory: Path, relative: str) -> int:
    """A descriptor of a regular file below ``directory`` that is reached without any symbolic link. Raises OSError."""
    *folders, name = relative.split("/")
    if not relative.isprintable() or not all(part not in {"", ".", ".."} for part in (*folders, name)):
        raise FileNotFoundError(relative)
    at = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for folder in folders:
            inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            os.close(at)
            at = inner
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PermissionError(f"{relative} is not a regular file")
    return descriptor


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= COUNT_LIMIT else None
