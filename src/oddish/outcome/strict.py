"""The policy ``strict`` over the trials of a job: may its rewards be believed, and did it do any work. Pure.

Two judgements that must not be taken for each other: ``job_status`` says whether any trial came to a real result,
``valid_for_scoring`` whether anybody should score by the rewards. Neither changes a reward.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from oddish.outcome.facts import AttemptFacts, EvidenceKind, primary_reward

type JobStatus = Literal["succeeded", "failed"]
type StrictStatus = Literal["scored", "unverified", "errored"]

MESSAGE_LIMIT = 1000
"""Characters of an exception's message in ``details``; its beginning is kept."""
OVERRIDE = "require_verifier_evidence"
_STRENGTH: tuple[EvidenceKind, ...] = ("empty", "none", "ctrf")
_ON_THE_WIRE = {"ctrf": "present"}


@dataclass(frozen=True, slots=True)
class StrictTrial:
    """A trial of a job, over."""

    name: str
    facts: AttemptFacts
    id: str | None = None
    """Ours, where it has one."""


@dataclass(frozen=True, slots=True)
class StrictOutcome:
    """What a job came to."""

    job_status: JobStatus
    """``failed`` if no trial came to a real result; one of several is enough for ``succeeded``."""
    status: StrictStatus
    """``errored``: a trial raised. ``unverified``: none raised, and nobody should score by what rewards there are.
    ``scored``: they may be believed; the same as ``valid_for_scoring``."""
    valid_for_scoring: bool
    reasons: tuple[str, ...]
    """Sentences that name the agent, the number of trials and what is wrong; empty iff valid."""
    scored: int
    """Trials with a reward."""
    errored: int
    """Trials that raised, or whose process or worker went away. Such a trial may have a reward all the same."""
    successful: int
    """Trials with a real result: a reward, and nothing raised."""
    exceptions: tuple[str, ...]
    """Class names, each once, sorted."""
    evidence: EvidenceKind
    """The weakest among the trials with a reward, or among all if none has one: ``empty``, ``none``, ``ctrf``."""
    tests: int
    """The fewest that a report of such a trial accounts for."""
    details: tuple[Mapping[str, Any], ...]
    """One mapping a trial: ``trial_id`` (if it has one), ``agent``, ``trial_name``, ``status`` (``completed`` or
    ``errored``), ``reward`` (the primary one), ``exception`` (the first one's class name or None) and, if there is one,
    ``exception_message``."""

    def document(self, *, details: bool) -> dict[str, Any]:
        """The ``outcome`` object of a job as JSON, with ``trials_detail`` if asked for."""
        document: dict[str, Any] = {
            "status": self.status,
            "valid_for_scoring": self.valid_for_scoring,
            "reasons": list(self.reasons),
            "trials": {"scored": self.scored, "errored": self.errored, "successful": self.successful},
            "exceptions": list(self.exceptions),
            "verifier": {"evidence": _ON_THE_WIRE.get(self.evidence, self.evidence), "tests": self.tests},
        }
        return document | ({"trials_detail": [dict(detail) for detail in self.details]} if details else {})


def evidence_required(requested: bool | None, deployed: bool) -> bool:
    """Whether a reward needs a test report: what the request says goes before what the deployment says."""
    return deployed if requested is None else requested


def strict_outcome(
    trials: Mapping[str, Sequence[StrictTrial]], *, require_verifier_evidence: bool = True
) -> StrictOutcome:
    """Judge the trials of a job, by agent; those of one agent alone give that agent's outcome.

    Without ``require_verifier_evidence`` a reward needs no test report. A report that accounts for no test is refused
    all the same: it contradicts itself, while absence is a matter of trust.
    """
    listed = [trial for of_agent in trials.values() for trial in of_agent]
    scored = [trial.facts for trial in listed if trial.facts.rewards]
    raised = [trial.facts.raised for trial in listed if trial.facts.raised]
    successful = [facts for facts in scored if not facts.raised]
    reasons = [
        f"{agent}: {sentence}"
        for agent, of_agent in trials.items()
        for sentence in _objections(of_agent, require_verifier_evidence=require_verifier_evidence)
    ] or ([] if trials else ["The job has no trials."])
    judged = scored or [trial.facts for trial in listed]
    return StrictOutcome(
        job_status="succeeded" if successful else "failed",
        status="errored" if raised else "unverified" if reasons else "scored",
        valid_for_scoring=not reasons,
        reasons=tuple(reasons),
        scored=len(scored),
        errored=len(raised),
        successful=len(successful),
        exceptions=tuple(sorted({exception.type for exceptions in raised for exception in exceptions})),
        evidence=min((facts.evidence for facts in judged), key=_STRENGTH.index, default="none"),
        tests=min((facts.reported_tests or 0 for facts in judged), default=0),
        details=tuple(_detail(agent, trial) for agent, of_agent in trials.items() for trial in of_agent),
    )


def _objections(trials: Sequence[StrictTrial], *, require_verifier_evidence: bool) -> list[str]:
    facts = [trial.facts for trial in trials]
    raised = [item.raised for item in facts if item.raised]
    scored = [item for item in facts if item.rewards]
    unscored = sum(not item.rewards and not item.raised for item in facts)
    empty = sum(item.evidence == "empty" for item in scored)
    absent = sum(item.evidence == "none" for item in scored)
    sentences = []
    if raised:
        names = Counter(name for exceptions in raised for name in {exception.type for exception in exceptions})
        earned = any(item.raised and item.rewards for item in facts)
        why = "; what a rollout earned before it broke off is no score" if earned else ""
        sentences.append(f"{_of(len(raised), facts)} raised ({_named(names)}){why}")
    if not scored:
        sentences.append("no trial has a reward, so there is nothing to score" if facts else "it has no trials")
    elif unscored:
        sentences.append(f"{_of(unscored, facts)} ended without a reward")
    if empty:
        sentences.append(
            f"the test report of {_of(empty, facts)} accounts for no test; a verifier that checks nothing cannot pass "
            "anything"
        )
    if absent and require_verifier_evidence:
        sentences.append(
            f"{_of(absent, facts)} left no test report, so nothing shows that the verifier checked the work; have it "
            f"write /logs/verifier/ctrf.json, or set {OVERRIDE} to false to trust the reward alone"
        )
    return sentences


def _of(count: int, of: Sequence[object]) -> str:
    return f"{count} of {len(of)} trial{'s' if len(of) > 1 else ''}"


def _named(names: Counter[str]) -> str:
    if len(names) == 1:
        return next(iter(names))
    return ", ".join(f"{count} x {name}" for name, count in sorted(names.items()))


def _detail(agent: str, trial: StrictTrial) -> Mapping[str, Any]:
    raised = trial.facts.raised
    named = {} if trial.id is None else {"trial_id": trial.id}
    detail: dict[str, Any] = named | {
        "agent": agent,
        "trial_name": trial.name,
        "status": "errored" if raised else "completed",
        "reward": primary_reward(trial.facts.rewards)[0],
        "exception": raised[0].type if raised else None,
    }
    return detail | ({"exception_message": raised[0].message[:MESSAGE_LIMIT]} if raised else {})
