"""``oddish cancel``: stop what is queued or running."""

import click

from oddish.cli.group import Command
from oddish.cli.lookup import Found, FoundTask, FoundTrial, find_experiment, find_task, find_trial
from oddish.cli.options import api_option, json_option
from oddish.cli.output import confirmed, print_json, say
from oddish.cli.session import connect, resolve
from oddish.cli.text import command, one_line, plural
from oddish.cli.trials import finished
from oddish.client import Client
from oddish.client.types import Cancelled
from oddish.errors import NotFound


@click.command(cls=Command)
@click.argument("reference", metavar="[ID]", required=False)
@click.option("-e", "-E", "--experiment", metavar="EXPERIMENT", help="Cancel a whole experiment, by id or name.")
@click.option("--qa", is_flag=True, help="Stop the analysis of the task only; of a trial, that of its task.")
@click.option("-f", "--force", "-y", "--yes", "force", is_flag=True, help="Do not ask.")
@api_option
@json_option
def cancel(
    reference: str | None, experiment: str | None, qa: bool, force: bool, api: str | None, as_json: bool
) -> None:
    """Stop the unfinished trials of a task, one trial, or an experiment.

    ID is that of a trial, or the id or name of a task. Finished trials keep their results, and nothing is deleted.
    --json does not ask.
    """
    if bool(reference) == bool(experiment):
        raise click.UsageError("Name a task or a trial, or give --experiment.")
    if qa and experiment:
        raise click.UsageError("--qa stops the analysis of one task: name the task, or one of its trials.")
    with connect(resolve(api)) as client:
        if qa:
            _cancel_analysis(client, reference or "", asks=not (force or as_json), as_json=as_json)
            return
        found = find_experiment(client, experiment) if experiment else _task_or_trial(client, reference or "")
        name = one_line(experiment or reference or "")
        active = sum(not finished(trial) for trial in found.snapshot().trials)
        if not (active or force or as_json):
            say(_nothing_of(name))
            return
        question = f"Cancel {plural(active, 'unfinished trial')} of {name}?"
        if not (force or as_json or confirmed(question, "nothing was cancelled", "--force")):
            say("Nothing was cancelled.")
            return
        result = _cancel(client, found)
    if as_json:
        print_json(result)
    elif result["trials_cancelled"]:
        say(f"{plural(result['trials_cancelled'], 'trial')} of {name} cancelled.")
    else:
        say(_nothing_of(name))


def _nothing_of(name: str) -> str:
    return f"Nothing of {name} was queued or running."


def _task_or_trial(client: Client, reference: str) -> FoundTrial | FoundTask:
    found = find_trial(client, reference) or find_task(client, reference)
    if found is None:
        raise NotFound(
            f"{reference!r} is no task or trial here.",
            fix=f"If it is an experiment: {command('cancel', '--experiment', reference)}",
        )
    return found


def _cancel_analysis(client: Client, reference: str, *, asks: bool, as_json: bool) -> None:
    found = _task_or_trial(client, reference)
    task_id = found.trial["task_id"] if isinstance(found, FoundTrial) else found.task["id"]
    if asks and not confirmed(f"Stop the analysis of {task_id}?", "nothing was cancelled", "--force"):
        say("Nothing was cancelled.")
        return
    result = client.analysis.cancel(task_id)
    if as_json:
        print_json(result)
    elif result.get("qa_jobs_cancelled"):
        say(f"The analysis of {task_id} is cancelled.")
    else:
        say(f"There was no analysis of {task_id} to stop.")


def _cancel(client: Client, found: Found) -> Cancelled:
    if isinstance(found, FoundTrial):
        return client.cancel(trial_ids=[found.trial["id"]])
    if isinstance(found, FoundTask):
        return client.cancel(task_ids=[found.task["id"]])
    return client.cancel(experiment_id=found.reference)
