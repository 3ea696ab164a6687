"""The numbers of a dataset beside those that ``oddish status`` shows of the same trials, and why they differ.

Tables of trials go by the policy ``harbor``, datasets by ``measured``; both name a trial once, by its last execution.
Pure.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from oddish.outcome import PASS, AttemptFacts, Policy, judge

STATUS_POLICY: Policy = "harbor"
DATASET_POLICY: Policy = "measured"

type Standing = Literal["scored", "errored", "cancelled", "skipped", "not_verified", "ambiguous", "not_ended"]
type Rule = Literal["errored", "cancelled", "not_verified", "unscored", "not_ended", "record", "order"]

RULES: Mapping[Rule, str] = {
    "errored": "failed with a reward beside the error; `oddish status` leaves the reward out, the dataset counts it",
    "cancelled": "cancelled after it had a reward; `oddish status` leaves the reward out, the dataset counts it",
    "not_verified": "has a reward although it was not to be verified; only the dataset counts it",
    "unscored": "has neither a reward nor an error; unmeasured in the dataset, like infrastructure that failed",
    "not_ended": "counts as a trial in `oddish status`; the dataset has it once it has ended",
    "record": "its result.json does not have the reward that the server has",
    "order": "the dataset numbers attempts by when they began, `oddish status` lists trials by their number",
}
"""Why a cell has other numbers in a dataset: what each rule is about, and what either makes of it."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a trial counts for in the tables of ``oddish status``."""

    standing: Standing
    reward: float | None = None
    """The one that counts; of a scored trial only."""
    reason: str | None = None
    """Why there is none, where that is known: a word of ``oddish.outcome.REASONS`` or the class of an exception."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A trial as either has it."""

    trial: str
    task: str
    model: str
    harness: str
    status: Counted
    attempt: int | None
    """Its number in the cell; None where the dataset does not have it."""
    reward: float | None
    """In the dataset."""
    place: int = 0
    """By which ``oddish status`` orders the trials of a cell."""


@dataclass(frozen=True, slots=True)
class Numbers:
    trials: int
    """Attempts, of a dataset."""
    scored: int
    """Those with a reward that counts."""
    passed: int
    mean: float | None
    """Of the rewards that count."""
    errors: int
    """Trials that failed; of a dataset, attempts without a reward."""
    passed_at: int | None
    """Place of the first that passed among all of them, from 1."""


@dataclass(frozen=True, slots=True)
class Difference:
    rule: Rule
    trial: str | None
    """None where it is about all trials of the cell."""
    reason: str | None
    status: float | None
    """The reward that counts in ``oddish status``."""
    dataset: float | None


@dataclass(frozen=True, slots=True)
class ComparedCell:
    task: str
    model: str
    harness: str
    status: Numbers
    dataset: Numbers
    differences: tuple[Difference, ...]
    """None where all numbers are the same."""


def counted(facts: AttemptFacts) -> Counted:
    """How ``oddish status`` would count a trial of which a record is all there is."""
    outcome = judge(facts, policy=STATUS_POLICY)
    reason = next(iter(outcome.reasons), None)
    if outcome.status == "cancelled":
        return Counted("cancelled", None, reason)
    if outcome.status != "success":
        return Counted("errored", None, reason)
    if facts.verifier_disabled:
        return Counted("not_verified", None, reason)
    return Counted("ambiguous", None, reason) if outcome.reward is None else Counted("scored", outcome.reward)


def compare(entries: Iterable[Entry]) -> tuple[ComparedCell, ...]:
    """By task, model and harness."""
    cells: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in entries:
        cells.setdefault((entry.task, entry.model, entry.harness), []).append(entry)
    return tuple(_compared(*key, cells[key]) for key in sorted(cells))


def _compared(task: str, model: str, harness: str, entries: Sequence[Entry]) -> ComparedCell:
    listed = sorted(entries, key=lambda entry: entry.place)
    attempts = sorted((entry for entry in entries if entry.attempt is not None), key=lambda entry: entry.attempt or 0)
    rewards = [entry.reward for entry in attempts]
    differences = [_difference(entry) for entry in listed]
    if _first_pass(rewards) != _first_pass([entry.reward for entry in listed if entry.attempt is not None]):
        differences.append(Difference("order", None, None, None, None))
    return ComparedCell(
        task,
        model,
        harness,
        _numbers(
            [entry.status.reward for entry in listed], sum(entry.status.standing == "errored" for entry in entries)
        ),
        _numbers(rewards, rewards.count(None)),
        tuple(difference for difference in differences if difference is not None),
    )


def _difference(entry: Entry) -> Difference | None:
    if (rule := _rule(entry)) is None:
        return None
    return Difference(rule, entry.trial, entry.status.reason, entry.status.reward, entry.reward)


def _rule(entry: Entry) -> Rule | None:
    if entry.attempt is None:
        return "not_ended"
    match entry.status.standing:
        case ("errored" | "cancelled" | "not_verified") as standing if entry.reward is not None:
            return standing
        case standing if standing == "scored" or entry.reward is not None:
            return None if entry.reward == entry.status.reward else "record"
        case "errored":
            return None
        case _:
            return "unscored"


def _numbers(rewards: Sequence[float | None], errors: int) -> Numbers:
    scored = [reward for reward in rewards if reward is not None]
    mean = math.fsum(reward / len(scored) for reward in scored) if scored else None
    return Numbers(len(rewards), len(scored), scored.count(PASS), mean, errors, _first_pass(rewards))


def _first_pass(rewards: Sequence[float | None]) -> int | None:
    return rewards.index(PASS) + 1 if PASS in rewards else None
