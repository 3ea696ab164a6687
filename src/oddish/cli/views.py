"""What ``status`` shows of a task, a trial and an experiment."""

from collections.abc import Iterable

from oddish.cli import metrics
from oddish.cli.details import Details, log_end
from oddish.cli.lookup import Found, FoundExperiment, FoundTask
from oddish.cli.output import say
from oddish.cli.progress import summary
from oddish.cli.spending import cost, tokens, unpriced
from oddish.cli.tables import print_results, print_table, print_trials, table
from oddish.cli.text import age, between, clean, command, one_line
from oddish.cli.trials import detail, finished, live_trials, model_label, named_rewards, reward_label, state, word
from oddish.cli.versions import not_shown
from oddish.cli.watch import Snapshot
from oddish.client.types import JSON, Task, Trial
from oddish.variants.reference import PACKAGE

ERROR_LINES = 30
PHASES = ("environment_setup", "agent_setup", "agent_execution", "verifier")
"""In the order they happen."""


def print_found(found: Found, details: Details) -> None:
    if isinstance(found, FoundExperiment):
        print_experiment(found)
    elif isinstance(found, FoundTask):
        print_task(found.task)
    else:
        print_trial(found.trial, details)


def print_experiment(found: FoundExperiment) -> None:
    snapshot = found.snapshot()
    name = next((task["experiment_name"] for task in found.tasks if task.get("experiment_name")), found.reference)
    say(f"Experiment {one_line(name)}  {summary(snapshot)}\n")
    print_results(snapshot.tasks, snapshot.trials)
    if text := not_shown(found.tasks):
        say(f"\n{text}")


def print_task(task: Task) -> None:
    trials = live_trials(task)
    version = task.get("current_version")
    say(f"Task {one_line(task['id'])}" + (f"  version {version}" if version else ""))
    say(f"{state(task)}  {summary(Snapshot([task], trials))}\n" if trials else state(task))
    if trials:
        print_trials(trials)
    if text := not_shown([task]):
        say(f"\n{text}")


def print_trial(trial: Trial, details: Details) -> None:
    facts = {
        "Trial": trial["id"],
        "Experiment": _experiment(trial, details),
        "Agent": trial["agent"],
        "Model": model_label(trial["model"]),
        "Environment": trial.get("environment") or "–",
        "Harbor": _harbor(trial),
        "Status": word(trial),
        "Detail": detail(trial),
        "Reward": reward_label(trial),
        "Rewards": named_rewards(trial),
        "Attempts": f"{trial['attempts']} of at most {trial['max_attempts']}",
        "Started": age(trial["started_at"]),
        "Took": between(trial["started_at"], trial["finished_at"]),
        "Phases": _phases(trial.get("phase_timing")),
        "Tests": _tests(trial.get("result")),
        "Tokens": tokens(trial),
        "Cost": cost(trial) or unpriced(trial),
        "Files": None if details.files is None else str(details.files),
        "Replaced by": trial.get("superseded_by_trial_id"),
        "Request": trial.get("correlation_id"),
    }
    _print_facts((label, value) for label, value in facts.items() if value)
    if measured := metrics.rows(trial.get("result")):
        say("\nMetrics:")
        _print_facts((f"  {label}", value) for label, value in measured)
    if notes := _notes(trial.get("result")):
        say("\nWhere its environment differs from the task's container:")
        for note in notes:
            say(f"  {one_line(note)}")
    if trial.get("error_message"):
        say("\nError:")
        for line in clean(trial["error_message"]).splitlines()[:ERROR_LINES]:
            say(f"  {line}")
    for writer in ("agent", "verifier"):
        if lines := log_end(clean(details.logs or ""), writer):
            say(f"\nOutput of the {writer}:")
            for line in lines:
                say(f"  {line}")
    if not finished(trial):
        say(f"\nWhat its agent does:  {command('logs', trial['id'], '-f')}")


def _print_facts(facts: Iterable[tuple[str, str]]) -> None:
    made = table("", "")
    made.show_header = False
    made.box = None
    for label, value in facts:
        made.add_row(label, one_line(value))
    print_table(made)


def _experiment(trial: Trial, details: Details) -> str:
    name, identity = details.experiment, trial["experiment_id"]
    return identity if name in (None, identity) else f"{name} ({identity})"


def _harbor(trial: Trial) -> str | None:
    """Another one than the workers' own, as ``--harbor`` names it."""
    source, sha = trial.get("harbor_source"), trial.get("harbor_sha")
    return sha if source in (None, PACKAGE) else f"{source}@{sha}"


def _phases(timing: dict[str, JSON] | None) -> str | None:
    lengths = {name: value for name, value in (timing or {}).items() if value}
    order = [*(name for name in PHASES if name in lengths), *(name for name in lengths if name not in PHASES)]
    parts = [f"{name.replace('_', ' ')} {_seconds(lengths[name])}" for name in order]
    return ", ".join(parts) or None


def _seconds(value: JSON) -> str:
    """A phase's length, sent as seconds or as an object with its start and end."""
    if isinstance(value, int | float):
        return f"{value:.1f}s"
    if isinstance(value, dict):
        seconds = value.get("duration_sec")
        if isinstance(seconds, int | float):
            return f"{seconds:.1f}s"
        start, end = value.get("started_at"), value.get("finished_at")
        if isinstance(start, str):
            return between(start, end if isinstance(end, str) else None)
    return "–"


def _tests(result: dict[str, JSON] | None) -> str | None:
    """The counts of their report, and what their script exited with where that was observed."""
    verifier = (result or {}).get("_verifier")
    if not isinstance(verifier, dict):
        return None
    said = []
    if verifier.get("tests") is not None:
        said.append(f"{verifier.get('passed')} of {verifier['tests']} passed")
    if "exit_code" in verifier:
        said.append("did not end" if verifier["exit_code"] is None else f"exit code {verifier['exit_code']}")
    return ", ".join(said) or None


def _notes(result: dict[str, JSON] | None) -> list[str]:
    environment = (result or {}).get("_environment")
    notes = environment.get("notes") if isinstance(environment, dict) else None
    return [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []
