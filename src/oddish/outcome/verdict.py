"""The verdict on one attempt under a named policy, derived from facts. Pure; standard library only.

How the execution ended and whether it runs again are the same under every policy, and a reward is never rewritten.
Policies differ in whether the reward counts:

* ``harbor``: as Harbor says, with the overrides of ``oddish.outcome.exceptions``. For tables and statistics.
* ``strict``: only of an attempt that nothing disturbed, backed by a test report. What the gateway vouches for.
* ``measured``: always, if there is one. How results directories are read.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from oddish.outcome.exceptions import Retry, leaves_valid_reward, reason_for, retry_after, retry_class
from oddish.outcome.facts import PASS, AttemptFacts, primary_reward

type Policy = Literal["harbor", "strict", "measured"]
type Status = Literal["success", "failed", "cancelled", "lost"]

POLICIES: tuple[Policy, ...] = ("harbor", "strict", "measured")
REASONS: Mapping[str, str] = {
    "ambiguous": "the verifier gave several rewards and none is called `reward`, so there is no primary one",
    "cancelled": "a user's cancel ended it",
    "crashed": "the process of the attempt ended early",
    "deadline": "the deployment's limit on an attempt's whole time stopped it",
    "disk_limit": "the local sandbox held more on disk than the task's `storage_mb` and was ended",
    "empty_report": "the verifier's test report accounts for no test",
    "image_build_failed": "the environment could not be built",
    "lost": "the worker that ran it is gone",
    "misconfigured": "no trial can be made from what was submitted",
    "no_report": "the verifier left no test report",
    "no_reward": "the verifier ran and left no number",
    "rate_limited": "the model's provider refused for now",
    "result_unreadable": "the attempt ended and its record is missing or damaged",
    "verification_disabled": "no verification was asked for, so there is no reward",
}
"""The words that an outcome's reasons are made of; any other reason is the class name of an exception."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict under a named policy."""

    status: Status
    """How the execution ended; the same under every policy."""
    usable: bool
    """``reward_valid``, or under ``harbor`` the undisturbed end of an attempt that nobody wanted verified."""
    reward_valid: bool
    """The policy lets the rewards count."""
    overridden: bool
    """Harbor called the reward valid and this verdict does not."""
    reward: float | None
    """The primary reward, valid or not; None when there is none."""
    reasons: tuple[str, ...]
    """Why the attempt is not usable or its score is missing, the main reason first; empty for a plain success."""
    retry: Retry
    """The same under every policy."""
    retry_after_sec: float | None = None
    """What the provider asked for, when it did."""
    policy: Policy = "harbor"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many of the attempts planned can be counted with, and what became of the others."""

    planned: int
    scored: int
    """Those with a valid primary reward."""
    passed: int
    """Those of them whose reward is exactly 1."""
    left_out: Mapping[str, int]
    """Main reason -> attempts, the most frequent first."""


def judge(facts: AttemptFacts, *, policy: Policy = "harbor", require_verifier_evidence: bool = True) -> Outcome:
    """Derive the outcome of one attempt.

    ``require_verifier_evidence`` is a matter of ``strict`` only: without it a missing test report is forgiven, an
    empty one is not.
    """
    outcome = _judge_execution(facts)
    match policy:
        case "harbor":
            return outcome
        case "strict":
            reasons = _strict_reasons(facts, outcome, require_verifier_evidence=require_verifier_evidence)
            counts = reasons in ((), ("ambiguous",))
        case "measured":
            counts = outcome.reward is not None
            reasons = () if counts else outcome.reasons
        case _:
            assert_never(policy)
    return replace(
        outcome,
        usable=counts,
        reward_valid=counts,
        overridden=facts.engine_reward_valid is True and not counts,
        reasons=reasons,
        policy=policy,
    )


def tally(outcomes: Iterable[Outcome]) -> Tally:
    """Count attempts for a rate: what stands beside it as scored of planned, and why the others are left out."""
    listed = list(outcomes)
    scored = [outcome.reward for outcome in listed if outcome.reward_valid and outcome.reward is not None]
    left_out = Counter(
        outcome.reasons[0] for outcome in listed if not outcome.reward_valid or outcome.reward is None
    ).most_common()
    return Tally(len(listed), len(scored), scored.count(PASS), dict(left_out))


def _judge_execution(facts: AttemptFacts) -> Outcome:
    reward, ambiguous = primary_reward(facts.rewards)
    valid = bool(facts.rewards) and all(leaves_valid_reward(exception) for exception in facts.exceptions)
    scoreless = facts.verifier_disabled and not facts.exceptions
    overridden = facts.engine_reward_valid is True
    if facts.was_cancelled:
        return Outcome("cancelled", False, False, overridden, reward, ("cancelled",), "never")
    if facts.ending == "lost":
        return Outcome("lost", False, False, overridden, reward, ("lost",), "lost")
    if facts.ending == "crashed":
        return Outcome("failed", False, False, overridden, reward, ("crashed",), "backoff")
    if valid or scoreless:
        reasons = ["ambiguous"] if ambiguous else [] if facts.rewards else ["verification_disabled"]
        return Outcome("success", True, valid, overridden and not valid, reward, tuple(reasons), "never")
    blamed = [exception for exception in facts.exceptions if not leaves_valid_reward(exception)]
    reasons = list(dict.fromkeys(reason_for(exception) for exception in blamed or facts.exceptions)) or ["no_reward"]
    classes = {retry_class(exception) for exception in blamed} or {"never"}
    retry: Retry = "never" if "never" in classes else "rate_limit" if "rate_limit" in classes else "backoff"
    after = max((retry_after(exception.message) or 0.0 for exception in blamed), default=0.0)
    asked = after if after and retry == "rate_limit" else None
    return Outcome("failed", False, False, overridden, reward, tuple(reasons), retry, asked)


def _strict_reasons(facts: AttemptFacts, outcome: Outcome, *, require_verifier_evidence: bool) -> tuple[str, ...]:
    if outcome.status in ("cancelled", "lost") or facts.ending == "crashed":
        return outcome.reasons
    reasons = list(dict.fromkeys(reason_for(exception) for exception in facts.exceptions))
    if not facts.rewards:
        return tuple(reasons) or outcome.reasons
    if facts.evidence == "empty":
        reasons.append("empty_report")
    elif facts.evidence == "none" and require_verifier_evidence:
        reasons.append("no_report")
    return tuple(reasons) or outcome.reasons
