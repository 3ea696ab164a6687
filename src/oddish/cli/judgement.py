"""What the trials of oracle and nop say about a task. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from oddish.cli.text import command, joined, moment, number, plural
from oddish.cli.trials import cancelled, detail, finished, note, score, succeeded
from oddish.client.types import JSON, Trial
from oddish.soundness.environment import ELSEWHERE
from oddish.soundness.verdict import Check, failed, ok, unchecked, warning
from oddish.tasks.definition import TaskDefinition
from oddish.tasks.fit import LOCAL

ORACLE, NOP = "oracle", "nop"
AGREEMENT, TIME = "agreement", "time"
BLAMES_THE_TASK = frozenset(
    {
        "AgentTimeoutError",
        "HealthcheckError",
        "MemoryLimitExceededError",
        "RewardFileEmptyError",
        "RewardFileNotFoundError",
        "SandboxLikelyOutOfMemoryError",
        "VerifierOutputParseError",
        "VerifierTimeoutError",
        "ambiguous",
        "deadline",
        "image_build_failed",
        "misconfigured",
        "no_reward",
    }
)
"""Reasons for the end of a trial that lie in the task; all others lie in what ran it."""
_LONG = 0.5
"""The part of a time limit from which on a slower machine may not keep it."""
_PHASES = {"environment_setup": "environment", "agent_execution": "agent", "verifier": "verifier"}
_SAY_WHY = "See what happened: {}"


@dataclass(frozen=True)
class Runs:
    """The trials of one task, and what is known of it beforehand."""

    task: TaskDefinition
    oracle: Sequence[Trial]
    nop: Sequence[Trial]
    local_obstacle: str | None = None
    """Why the local sandbox, and not every environment, refuses the task."""
    has_solution: bool = True


def judge(runs: Runs) -> list[Check]:
    return [
        *([_oracle(runs)] if runs.has_solution else []),
        _nop(runs),
        *_agreement(runs),
        *_time(runs),
    ]


def _oracle(runs: Runs) -> Check:
    if (ended := _unfit(ORACLE, runs.oracle, runs)) is not None:
        return ended
    if any(score(trial) != 1 for trial in runs.oracle):
        return failed(
            ORACLE,
            f"The task's own solution should earn 1, and earned {_rewards(runs.oracle)}.",
            f"Correct the solution or the tests. {_look_at(trial for trial in runs.oracle if score(trial) != 1)}",
        )
    notes = [text for trial in runs.oracle if (text := note(trial))]
    if notes:
        return warning(ORACLE, f"It earned 1, and something went wrong: {notes[0]}", _look_at(runs.oracle))
    return ok(ORACLE, f"the task's own solution earned 1 in {_each(runs.oracle)}")


def _nop(runs: Runs) -> Check:
    if (ended := _unfit(NOP, runs.nop, runs)) is not None:
        return ended
    if any(score(trial) == 1 for trial in runs.nop):
        return failed(
            NOP,
            f"Doing nothing earned {_rewards(runs.nop)}.",
            f"Let the tests fail on an untouched environment. {_look_at(runs.nop)}",
        )
    if any(score(trial) != 0 for trial in runs.nop):
        return warning(
            NOP,
            f"Doing nothing earned {_rewards(runs.nop)}: every agent gets that for free.",
            "Let the tests give 0 for an untouched environment.",
        )
    return ok(NOP, f"doing nothing earned 0 in {_each(runs.nop)}")


def _unfit(name: str, trials: Sequence[Trial], runs: Runs) -> Check | None:
    """Why the rewards of ``trials`` cannot be judged."""
    if not trials:
        return unchecked(name, "There is no trial.", "Run the command again.")
    if (other := next((trial for trial in trials if not succeeded(trial)), None)) is not None:
        if not finished(other) or cancelled(other):
            return unchecked(name, f"{other['id']}: {detail(other)}.", "Run the command again.")
        if runs.local_obstacle is not None and other.get("environment") == LOCAL:
            return unchecked(name, runs.local_obstacle, ELSEWHERE)
        reasons = frozenset(other.get("reasons") or ())
        make = failed if reasons & BLAMES_THE_TASK else unchecked
        return make(name, f"{other['id']} ended without a valid reward: {detail(other)}", _look_at([other]))
    if (scoreless := next((trial for trial in trials if score(trial) is None), None)) is not None:
        return failed(
            name,
            f"{scoreless['id']} has several rewards and none called reward: {joined(scoreless.get('rewards') or ())}.",
            "Name one of them reward.",
        )
    return None


def _agreement(runs: Runs) -> Iterator[Check]:
    """Rewards by name of trials that began alike. The verifier never looked twice at one and the same workspace."""
    repeated = {
        name: [trial for trial in trials if score(trial) is not None]
        for name, trials in ((ORACLE, runs.oracle), (NOP, runs.nop))
    }
    repeated = {name: trials for name, trials in repeated.items() if len(trials) > 1}
    different = {name: trials for name, trials in repeated.items() if len(set(map(_named, trials))) > 1}
    for name, trials in different.items():
        yield failed(
            AGREEMENT,
            f"{plural(len(trials), 'trial')} of {name} gave different rewards: {joined(map(_shown, trials))}.",
            f"Remove what varies: time, network, random numbers, order. {_look_at(trials)}",
        )
    if repeated and not different:
        who = " and ".join(f"{len(trials)} of {name}" for name, trials in repeated.items())
        yield ok(AGREEMENT, f"equal rewards in {who}, each in a fresh environment")


def _time(runs: Runs) -> Iterator[Check]:
    slow = list(_slow(runs))
    yield from slow
    shown = [
        f"{name} {_seconds(max(map(_total, ended)))}{_phases(ended)}"
        for name, trials in ((ORACLE, runs.oracle), (NOP, runs.nop))
        if (ended := [trial for trial in trials if succeeded(trial)])
    ]
    if shown and not slow:
        yield ok(TIME, f"at most: {'; '.join(shown)}")


def _slow(runs: Runs) -> Iterator[Check]:
    if runs.task.steps:
        return
    limits = {
        "agent_execution": ("agent.timeout_sec", runs.task.agent_timeout_sec, runs.oracle),
        "verifier": ("verifier.timeout_sec", runs.task.verifier_timeout_sec, (*runs.oracle, *runs.nop)),
    }
    for phase, (key, limit, trials) in limits.items():
        longest = max((_phase(trial, phase) for trial in trials), default=0.0)
        if limit is not None and longest > _LONG * limit:
            what = "The solution" if phase == "agent_execution" else "The verifier"
            yield warning(
                TIME,
                f"{what} took {_seconds(longest)} of the {limit:g} s of {key}; a busier machine may not keep it.",
                f"Raise {key}, or do less.",
            )


def _phases(trials: Sequence[Trial]) -> str:
    parts = [
        f"{name} {_seconds(longest)}"
        for phase, name in _PHASES.items()
        if (longest := max((_phase(trial, phase) for trial in trials), default=0.0))
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _phase(trial: Trial, name: str) -> float:
    found = (trial.get("phase_timing") or {}).get(name)
    if not isinstance(found, Mapping):
        return 0.0
    return _between(found.get("started_at"), found.get("finished_at"))


def _total(trial: Trial) -> float:
    return _between(trial["started_at"], trial["finished_at"])


def _between(start: JSON, end: JSON) -> float:
    began, ended = (moment(value if isinstance(value, str) else None) for value in (start, end))
    return max(0.0, (ended - began).total_seconds()) if began and ended else 0.0


def _seconds(value: float) -> str:
    return f"{value:.1f} s"


def _rewards(trials: Sequence[Trial]) -> str:
    """``0.75 in each of 2 trials``, ``1 and 0 in 2 trials``."""
    different = list(dict.fromkeys(number(score(trial)) for trial in trials))
    return (
        f"{different[0]} in {_each(trials)}"
        if len(different) == 1
        else f"{' and '.join(different)} in {len(trials)} trials"
    )


def _named(trial: Trial) -> tuple[tuple[str, str], ...]:
    named = trial.get("rewards") or {"reward": trial["reward"]}
    return tuple(sorted((name, repr(value)) for name, value in named.items()))


def _shown(trial: Trial) -> str:
    return " ".join(f"{name}={value}" for name, value in _named(trial))


def _each(trials: Sequence[Trial]) -> str:
    return "1 trial" if len(trials) == 1 else f"each of {len(trials)} trials"


def _look_at(trials: Iterable[Trial]) -> str:
    first = next(iter(trials))
    return _SAY_WHY.format(command("status", first["id"], "-v"))
