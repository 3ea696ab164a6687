"""``oddish run --retry``: what has ended runs again, as it was submitted."""

from collections.abc import Sequence
from contextlib import suppress

from oddish.cli.credentials import Sources
from oddish.cli.lookup import Found, FoundExperiment, FoundTask, FoundTrial, find, find_experiment
from oddish.cli.output import confirmed, print_error, print_json, say
from oddish.cli.registry import as_members, read_logins
from oddish.cli.retry_options import Line
from oddish.cli.session import connect, resolve
from oddish.cli.tables import LISTED, print_table, status_text, table
from oddish.cli.text import command, joined, one_line, plural
from oddish.cli.trials import detail, finished, model_label, reward_label, succeeded, word
from oddish.cli.versions import not_shown
from oddish.client import Client
from oddish.client.errors import ApiError
from oddish.client.types import JSON, RefusedTrial, RegistryAuth, Retries, Task, Trial
from oddish.errors import InvalidInput, NotFound

WITHOUT_IMAGES = "local"
"""Fetches nothing from a registry, so that logins neither help nor harm there."""
AT_A_TIME = 10_000
"""Trials of one call."""


def run_again(line: Line, *, qa: bool) -> None:
    """Find what the line names, list it, ask, and have it done."""
    with connect(resolve(line.value("--api"))) as client:
        found = _find(client, line)
        if qa:
            _analyse(client, line, found)
        else:
            _retry(client, line, found)


def _find(client: Client, line: Line) -> Found:
    """Whatever has the id; an experiment first where one is announced."""
    if line.announces_experiment:
        with suppress(NotFound):
            return find_experiment(client, line.target)
    return find(client, line.target)


def _retry(client: Client, line: Line, found: Found) -> None:
    as_json = bool(line.value("--json"))
    trials = _meant(found)
    target = _target(found)
    if not trials:
        note = f"Nothing of {one_line(_name(found))} has failed, was cancelled or skipped."
        if others := not_shown(found.snapshot().tasks):
            note = f"{note} {others}"
        if as_json:
            print_json(
                {"kind": "trials", "target": target, "trials": [], "note": note, "queued": 0, "skipped": 0, "failed": 0}
            )
        else:
            say(note)
        return
    if not (as_json or line.value("--quiet")):
        _list(trials)
    if not (as_json or line.value("--yes") or confirmed(_question(found, trials), "nothing was retried", "--yes")):
        say("Nothing was retried.")
        return
    environments = [trial["environment"] for trial in trials if trial["environment"] != WITHOUT_IMAGES]
    logins = read_logins(line.value("--registry-login") or (), Sources.of(None), environments or [WITHOUT_IMAGES])
    result = _send(
        client,
        [trial["id"] for trial in trials],
        as_members(logins),
        gate=line.gated,
    )
    if as_json:
        print_json(_document(target, result))
    else:
        _tell(found, result)
    if result["refused"]:
        line.context.exit(1)


def _meant(found: Found) -> list[Trial]:
    """The trial itself, or what came to nothing of a task or an experiment. Raises ``InvalidInput``."""
    if not isinstance(found, FoundTrial):
        return [
            trial
            for trial in found.snapshot().trials
            if finished(trial) and not succeeded(trial) and trial.get("origin") != "imported"
        ]
    trial = found.trial
    if (successor := trial.get("superseded_by_trial_id")) is not None:
        raise InvalidInput(
            f"Trial {trial['id']} was replaced by {successor}.", fix=f"Retry that one: oddish run {successor} --retry"
        )
    if not finished(trial):
        raise InvalidInput(
            f"Trial {trial['id']} has not ended: it is {word(trial)}.",
            fix=f"Wait for its end, or cancel it first: {command('cancel', trial['id'])}",
        )
    return [trial]


def _send(client: Client, trial_ids: Sequence[str], logins: Sequence[RegistryAuth], *, gate: bool) -> Retries:
    whole: Retries = {"retried": [], "refused": [], "queued": 0, "skipped": 0, "failed": 0}
    for start in range(0, len(trial_ids), AT_A_TIME):
        some = trial_ids[start : start + AT_A_TIME]
        part = client.retry(trial_ids=some, registry_auth=logins, gate_baselines=gate)
        whole["retried"] += part["retried"]
        whole["refused"] += part["refused"]
        whole["queued"] += part["queued"]
        whole["skipped"] += part["skipped"]
        whole["failed"] += part["failed"]
    return whole


def _list(trials: Sequence[Trial]) -> None:
    made = table("Trial", "Agent", "Model", "Status", "Reason", whole=("Trial",))
    for trial in trials[:LISTED]:
        reason = f"reward {reward_label(trial)}" if succeeded(trial) else detail(trial)
        made.add_row(
            one_line(trial["id"]),
            one_line(trial["agent"]),
            model_label(trial["model"]),
            status_text(word(trial)),
            reason,
        )
    if len(trials) > LISTED:
        made.add_row(f"and {len(trials) - LISTED} more", "", "", "", "")
    print_table(made)


def _question(found: Found, trials: Sequence[Trial]) -> str:
    if isinstance(found, FoundTrial) and succeeded(found.trial):
        return "It succeeded. Run it again, and show its result only to those who name it?"
    return f"Run {'this trial' if len(trials) == 1 else f'these {len(trials)} trials'} again?"


def _tell(found: Found, result: Retries) -> None:
    if result["queued"]:
        say(f"{plural(result['queued'], 'trial')} queued again.")
    if result["skipped"]:
        say(
            f"{plural(result['skipped'], 'trial')} skipped again: oracle and nop do not find the task sound. "
            "With --no-baseline-gate they run."
        )
    if result["refused"]:
        _explain(result["refused"])
    if result["queued"]:
        where = ["-e", found.reference] if isinstance(found, FoundExperiment) else [_name(found)]
        if isinstance(found, FoundTrial):
            where = [result["retried"][0]["new_trial_id"]]
        say(f"Watch with: {command('status', *where, '--watch')}")


def _explain(refused: Sequence[RefusedTrial]) -> None:
    """Each reason once, with those it keeps from running again."""
    reasons: dict[tuple[str, str | None], list[str]] = {}
    for entry in refused:
        problem = entry["error"]
        reasons.setdefault((problem["detail"], problem.get("fix")), []).append(entry["trial_id"])
    for (reason, fix), trial_ids in list(reasons.items())[:LISTED]:
        print_error(InvalidInput(f"Not retried: {joined(trial_ids)}. {reason}", fix=fix))
    if len(reasons) > LISTED:
        say(f"and {len(reasons) - LISTED} more that were not retried", err=True)


def _document(target: dict[str, str], result: Retries) -> dict[str, object]:
    trials: list[dict[str, object]] = [
        {"trial_id": trial["trial_id"], "ok": True, "status": 200, "response": trial} for trial in result["retried"]
    ]
    trials += [
        {
            "trial_id": entry["trial_id"],
            "ok": False,
            "status": entry["error"].get("status"),
            "error": entry["error"]["detail"],
            "code": entry["error"].get("code"),
        }
        for entry in result["refused"]
    ]
    counts = {"queued": result["queued"], "skipped": result["skipped"], "failed": result["failed"]}
    return {"kind": "trials", "target": target, "trials": trials, **counts}


def _analyse(client: Client, line: Line, found: Found) -> None:
    as_json = bool(line.value("--json"))
    task_ids = [found.trial["task_id"]] if isinstance(found, FoundTrial) else [task["id"] for task in _tasks(found)]
    question = f"Analyse {plural(len(task_ids), 'task')} again?"
    if not (as_json or line.value("--yes") or confirmed(question, "nothing was analysed", "--yes")):
        say("Nothing was analysed.")
        return
    tasks: list[dict[str, JSON]] = []
    for task_id in task_ids:
        try:
            tasks.append({"task_id": task_id, "ok": True, "status": 200, "response": client.analysis.retry(task_id)})
        except ApiError as error:
            tasks.append({"task_id": task_id, "ok": False, "status": error.http_status, "error": error.message})
    failed = [task for task in tasks if not task["ok"]]
    if as_json:
        counts = {"queued": len(tasks) - len(failed), "failed": len(failed)}
        print_json({"kind": "qa", "target": _target(found), "tasks": tasks, **counts})
    else:
        for task in failed:
            print_error(InvalidInput(f"Not analysed: {task['task_id']}. {task['error']}"))
        say(f"The analysis of {plural(len(tasks) - len(failed), 'task')} is queued.")
    if failed:
        line.context.exit(1)


def _tasks(found: FoundTask | FoundExperiment) -> Sequence[Task]:
    return [found.task] if isinstance(found, FoundTask) else found.tasks


def _name(found: Found) -> str:
    if isinstance(found, FoundTrial):
        return found.trial["id"]
    return found.task["id"] if isinstance(found, FoundTask) else found.reference


def _target(found: Found) -> dict[str, str]:
    if isinstance(found, FoundExperiment):
        return {"type": "experiment", "id": found.tasks[0].get("experiment_id") or found.reference}
    return {"type": "trial" if isinstance(found, FoundTrial) else "task", "id": _name(found)}
