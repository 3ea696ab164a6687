"""What ``oddish gateway`` says of jobs."""

from collections.abc import Mapping, Sequence

from oddish.cli.output import say
from oddish.cli.text import brief, command, number, one_line, plural
from oddish.cli.trials import stage_label
from oddish.client.gatewayjobs import (
    JobAccepted,
    JobDocument,
    JobEvent,
    JobListed,
    JobOutcome,
    OutcomeBrief,
    VerifierResult,
)
from oddish.client.types import JSON


def tell(event: JobEvent) -> None:
    """One line, for events that there is something to say of."""
    data = event["data"]
    match event["event"]:
        case "job.queued":
            say(f"{one_line(data.get('job_id'))} is queued.")
        case "trial.started":
            say(f"{_trial(data)}: attempt {one_line(data.get('attempt'))}")
        case "trial.phase":
            say(f"{_trial(data)}: {stage_label(str(data.get('phase')))}")
        case "trial.finished":
            reward = data.get("reward")
            earned = f", reward {number(reward)}" if isinstance(reward, int | float) else ""
            say(f"{_trial(data)}: {one_line(data.get('status'))}{earned}{_raised(data.get('outcome'))}")


def came_to(job: JobListed) -> str:
    """In a word or two; nothing while it goes on."""
    codes, outcome = job.get("exit_codes"), job.get("outcome")
    if codes is not None:
        found = [*dict.fromkeys("none" if code is None else str(code) for code in codes)]
        return f"exit code {', '.join(found)}" if found else ""
    return judgement(outcome) if outcome is not None else ""


def judgement(outcome: OutcomeBrief) -> str:
    believed = "valid for scoring" if outcome["valid_for_scoring"] else "not valid for scoring"
    return f"{one_line(outcome['status'])}, {believed}"


def stopped(job: JobAccepted) -> str:
    """What cancelling it came to."""
    job_id, status = one_line(job["job_id"]), one_line(job["status"])
    match job["status"]:
        case "queued" | "running":
            return f"{job_id} is being stopped."
        case "cancelled":
            return f"{job_id} is cancelled."
        case _:
            return f"{job_id} had ended before, {status}: nothing was stopped."


def conclude(job: JobDocument, *, quiet: bool = False) -> bool:
    """Say what came of a job that has ended, unless ``quiet``; whether it is what was hoped for."""
    verifier = job["result"].get("verifier") if job["result"] is not None else None
    if not quiet:
        say(f"{one_line(job['job_id'])} {_ended(job)}")
        if verifier is not None:
            _say_verified(verifier)
        elif job["outcome"] is not None:
            _say_outcome(job, job["outcome"])
        if job["experiment_id"] is not None:
            say(f"Its trials:  {command('status', '-e', job['experiment_id'])}")
    if job["kind"] == "verify":
        return verifier is not None and verifier["exit_code"] == 0
    return job["outcome"] is not None and job["outcome"]["valid_for_scoring"]


def _trial(data: Mapping[str, JSON]) -> str:
    return f"{one_line(data.get('trial_id'))} ({one_line(data.get('agent'))})"


def _ended(job: JobDocument) -> str:
    error = job["error"]
    why = f": {brief(error['message'])} ({one_line(error['code'])})" if error else ""
    return f"{one_line(job['status'])}{why}"


def _say_outcome(job: JobDocument, outcome: JobOutcome) -> None:
    counts, verifier, error = outcome["trials"], outcome["verifier"], job["error"]
    say(f"Outcome:     {judgement(outcome)}")
    for reason in outcome["reasons"]:
        if error is None or reason != error["message"]:
            say(f"  {brief(reason, 500)}")
    if not job["trials"]["total"]:
        return
    for agent, rewards in _rewards(job).items():
        say(f"Rewards:     {agent}: {brief(', '.join(rewards), 500)}")
    say(f"Attempts:    {counts['scored']} scored, {counts['errored']} errored, {counts['successful']} successful")
    say(f"Test report: {one_line(verifier['evidence'])}, {plural(verifier['tests'], 'test')}")
    for note in outcome.get("environment_notes") or ():
        say(f"Environment: {brief(note, 500)}")


def _rewards(job: JobDocument) -> Mapping[str, Sequence[str]]:
    """Those of each agent, in the order of its attempts."""
    found: dict[str, list[str]] = {}
    for trial in job["result"]["agent_results"] if job["result"] is not None else ():
        found.setdefault(one_line(trial["name"]), []).append(number(trial.get("reward")))
    return found


def _raised(outcome: JSON) -> str:
    exceptions = outcome.get("exceptions") if isinstance(outcome, dict) else None
    return "".join(f", {one_line(name)}" for name in exceptions) if isinstance(exceptions, list) else ""


def _say_verified(verifier: VerifierResult) -> None:
    code = verifier["exit_code"]
    say(f"Exit code:   {'not always the same, or none' if code is None else code}")
    if verifier["flaky"]:
        say("Flaky:       the same workspace came to different ends")
    for run in verifier["runs"]:
        exited = "none" if run["exit_code"] is None else run["exit_code"]
        say(f"  {one_line(run['trial_name'])}: exit code {exited}, reward {number(run['reward'])}")
