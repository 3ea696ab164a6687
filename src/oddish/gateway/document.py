"""A job and its trials as callers read them. Pure.

``status`` says whether the work was done, ``outcome`` whether its rewards may be believed, and the record that Harbor
made of a trial is passed on as it is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oddish.documents import text
from oddish.gateway.jobs import GatewayJob
from oddish.outcome import AttemptFacts, StrictOutcome, StrictTrial, primary_reward, strict_outcome

PURPOSE = "task_authoring"
"""Of what ``verify-task`` comes to."""
NO_SCORE = "A run of the verifier alone says whether the task is sound, and is nobody's score."
CANCELLED = "The job was cancelled before any of its trials began."
DELETED = "The trials of the job were deleted."
_COUNTED = {"queued": "queued", "running": "running", "retrying": "queued"}


@dataclass(frozen=True)
class JobTrial:
    """A trial of a job."""

    id: str
    agent: str
    """As the caller has named it."""
    status: str
    facts: AttemptFacts | None = None
    """Of the attempt that decided it; None until it has ended."""
    exit_code: int | None = None
    """Of the verifier's script, where it was observed."""
    environment_notes: Sequence[str] = ()
    """Where it ran elsewhere than in the task's container."""
    record: Mapping[str, Any] | None = None
    """Harbor's, None where it left none."""

    @property
    def name(self) -> str:
        """Harbor's, by which its record calls it."""
        return text((self.record or {}).get("trial_name")) or self.id

    @property
    def reward(self) -> float | None:
        return primary_reward(self.facts.rewards)[0] if self.facts else None


def job_summary(job: GatewayJob) -> dict[str, Any]:
    """Without its trials."""
    return {
        "job_id": job.id,
        "kind": job.kind,
        "status": job.status,
        "task_slug": job.task_slug,
        "metadata": dict(job.metadata),
        "agents": [_agent(agent["name"], agent) for agent in job.agents],
        "pass_at_k": job.pass_at_k,
        "require_verifier_evidence": job.require_verifier_evidence,
        "correlation_id": job.correlation_id,
        "experiment_id": job.experiment_id,
        "task_version_id": job.task_version_id,
        "retry_of": job.retry_of,
        "retried_exceptions": list(job.retried_exceptions) if job.retry_of else None,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "error": job.error,
    }


def job_listing(job: GatewayJob, trials: Sequence[JobTrial]) -> dict[str, Any]:
    """As ``job_summary``, and what came of it once it has ended, in short."""
    return job_summary(job) | {"outcome": None, "exit_codes": None} | ({} if job.unfinished else job_news(job, trials))


def job_news(job: GatewayJob, trials: Sequence[JobTrial]) -> dict[str, Any]:
    """In short what a job that has ended came to; ``exit_codes``: of the runs of a verification."""
    exit_codes = [trial.exit_code for trial in trials] if job.kind == "verify" else None
    return {"outcome": _brief(job_outcome(job, trials)), "exit_codes": exit_codes}


def trial_news(job: GatewayJob, trial: JobTrial) -> dict[str, Any]:
    """In short what a trial came to that has ended."""
    alone = replace(job, agents=[], pass_at_k=1)
    exit_code = {"exit_code": trial.exit_code} if job.kind == "verify" else {}
    return {"outcome": _brief(job_outcome(alone, [trial]))} | exit_code


def job_document(
    job: GatewayJob, trials: Sequence[JobTrial], *, downloads: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """With what its trials came to, once it has ended. ``downloads``: addresses of the artifacts of a verification."""
    document = job_summary(job) | {"trials": trial_counts(trials), "outcome": None, "result": None}
    if job.unfinished:
        return document
    notes = dict.fromkeys(note for trial in trials for note in trial.environment_notes)
    outcome = job_outcome(job, trials).document(details=job.pass_at_k > 1) | {"environment_notes": list(notes)}
    result = {"outcome": outcome, "agent_results": _agent_results(job, trials)}
    if job.kind == "verify":
        result |= _verification(trials) | {"artifact_download_urls": dict(downloads or {})}
    return document | {"outcome": outcome, "result": result}


def job_outcome(job: GatewayJob, trials: Sequence[JobTrial]) -> StrictOutcome:
    """Of a job that has ended, under the policy ``strict``."""
    outcome = strict_outcome(strict_trials(job, trials), require_verifier_evidence=job.require_verifier_evidence)
    if not trials:
        message = job.error["message"] if job.error else CANCELLED if job.status == "cancelled" else DELETED
        return replace(outcome, status="errored", reasons=(message,))
    if job.kind == "verify":
        # The exit code is the answer; a reward and a report are what a script may leave beside it.
        outcome = replace(outcome, reasons=_without_exit_code(trials))
    objections = [NO_SCORE] if job.kind == "verify" else []
    if (missing := job.pass_at_k * max(len(job.agents), 1) - len(trials)) > 0:
        objections.append(f"{missing} of its trials were deleted; what is left is not what was asked for.")
    if objections:
        status = "unverified" if outcome.status == "scored" else outcome.status
        return replace(outcome, status=status, valid_for_scoring=False, reasons=(*outcome.reasons, *objections))
    return outcome


def strict_trials(job: GatewayJob, trials: Sequence[JobTrial]) -> Mapping[str, Sequence[StrictTrial]]:
    """Those that have ended, by agent; an agent without any has an empty list."""
    found: dict[str, list[StrictTrial]] = {agent["name"]: [] for agent in job.agents} if trials else {}
    for trial in trials:
        if trial.facts is not None:
            found.setdefault(trial.agent, []).append(StrictTrial(trial.name, trial.facts, trial.id))
    return found


def trial_counts(trials: Sequence[JobTrial]) -> dict[str, int]:
    found = Counter(_COUNTED.get(trial.status, "finished") for trial in trials)
    return {"total": len(trials), **{name: found[name] for name in ("queued", "running", "finished")}}


def _without_exit_code(trials: Sequence[JobTrial]) -> tuple[str, ...]:
    silent = [trial for trial in trials if trial.exit_code is None]
    if not silent:
        return ()
    raised = sorted({raised.type for trial in silent if trial.facts for raised in trial.facts.raised})
    why = f" ({', '.join(raised)})" if raised else ""
    return (f"{len(silent)} of {len(trials)} run{'s' if len(trials) > 1 else ''} came to no exit code{why}.",)


def _agent_results(job: GatewayJob, trials: Sequence[JobTrial]) -> list[dict[str, Any]]:
    agents = {agent["name"]: agent for agent in job.agents}
    return [
        {
            **_agent(trial.agent, agents.get(trial.agent, {})),
            "trial_id": trial.id,
            "trial_name": trial.name,
            "status": "errored" if trial.facts is None or trial.facts.raised else "completed",
            "reward": trial.reward,
            "environment_notes": list(trial.environment_notes),
            "result": trial.record,
        }
        for trial in trials
    ]


def _agent(name: str, agent: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "harbor_agent": agent.get("harbor_agent"), "model": agent.get("model")}


def _verification(trials: Sequence[JobTrial]) -> dict[str, Any]:
    """What the runs of a verifier agree on: if runs on the same workspace differ, the fault is the verifier's."""
    codes = {trial.exit_code for trial in trials}
    rewards = {trial.reward for trial in trials}
    return {
        "purpose": PURPOSE,
        "valid_for_scoring": False,
        "verifier": {
            "exit_code": _only(codes),
            "flaky": any(len(found - {None}) > 1 for found in (codes, rewards)),
            "runs": [
                {"trial_name": trial.name, "exit_code": trial.exit_code, "reward": trial.reward} for trial in trials
            ],
        },
        "reward": _only(rewards),
    }


def _brief(outcome: StrictOutcome) -> dict[str, Any]:
    return {
        "status": outcome.status,
        "valid_for_scoring": outcome.valid_for_scoring,
        "exceptions": list(outcome.exceptions),
    }


def _only[Value](found: set[Value]) -> Value | None:
    return next(iter(found)) if len(found) == 1 else None
