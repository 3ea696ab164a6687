"""``oddish delete``: tasks, experiments, trials and exports that nobody shall see any more."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from oddish.cli.group import Command
from oddish.cli.lookup import find_task, find_trial, of_task
from oddish.cli.options import json_option, short_api_option
from oddish.cli.output import confirmed, error_document, print_error, print_json, say
from oddish.cli.session import connect, resolve
from oddish.cli.text import command, joined, one_line, plural
from oddish.client import Client
from oddish.client.errors import ApiError
from oddish.client.types import Deleted
from oddish.errors import NotFound, OddishError

EXAMPLES = """\b
Examples:
  oddish delete hello-world-1a2b3c4d
  oddish delete --experiment keen-otter-x7f2
  oddish delete --trial hello-world-1a2b3c4d-0 --trial hello-world-1a2b3c4d-1 -y
  oddish delete --export my-bench/eval-v1

\b
Exit codes:
  0    deleted, or the question was answered with no
  1    something was not found or may not be deleted, or the server cannot be
       reached
  2    the command line cannot be understood
"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("task_id", metavar="[TASK]", required=False)
@click.option("-e", "-E", "--experiment", metavar="EXPERIMENT", help="Delete an experiment, by id or name.")
@click.option("-t", "--trial", "trial_ids", multiple=True, metavar="TRIAL", help="Delete this trial.")
@click.option(
    "--export", metavar="PROJECT/DATASET", help="Delete what the server shows of an `oddish export --to viewer:`."
)
@click.option("-y", "--yes", "-f", "--force", "yes", is_flag=True, help="Do not ask.")
@short_api_option
@json_option
@click.pass_context
def delete(
    ctx: click.Context,
    task_id: str | None,
    experiment: str | None,
    trial_ids: tuple[str, ...],
    export: str | None,
    yes: bool,
    api: str | None,
    as_json: bool,
) -> None:
    """Delete a task, by id or name, with all its trials, an experiment with those that ran in it, single trials, or an
    export.

    What has not ended is stopped first. What is deleted is found nowhere any more, counts for nothing and cannot be
    brought back; its id is never used again, and the name of a task or an experiment is free. It takes a key of an
    admin; a deployment for many organisations deletes trials only. An export takes a key of scope tasks and can be
    made again of its trials. --json does not ask.
    """
    if bool(task_id) + bool(experiment) + bool(trial_ids) + bool(export) != 1:
        raise click.UsageError("Name a task, or give --experiment, --trial or --export: one of the four.")
    project, _, dataset = (export or "").partition("/")
    if export and not (project and dataset):
        raise click.UsageError(f"--export {export} has to name both: PROJECT/DATASET.")
    with connect(resolve(api)) as client:
        question = None if yes or as_json else _question(client, task_id, experiment, trial_ids, export)
        if question is not None and not confirmed(question, "nothing was deleted", "--yes"):
            say("Nothing was deleted.")
            return
        if trial_ids:
            if not _delete_trials(client, list(dict.fromkeys(trial_ids)), as_json=as_json):
                ctx.exit(1)
            return
        if export:
            result: Mapping[str, Any] = client.exports.remove(project, dataset)
        else:
            result = client.delete_experiment(experiment) if experiment else _delete_task(client, task_id or "")
    if as_json:
        print_json(result)
    else:
        say(result["message"])


def _question(
    client: Client, task_id: str | None, experiment: str | None, trial_ids: Sequence[str], export: str | None
) -> str:
    """What would go, by what there is now. Raises ``NotFound`` when there is no task or experiment of the name."""
    if export:
        return f"Delete export {one_line(export)} from the pages of the server?"
    if trial_ids:
        return f"Delete {joined(map(one_line, trial_ids))}?"
    if experiment:
        found = client.experiment(experiment)
        return f"Delete experiment {one_line(found['name'])} and {plural(found.get('trials', 0), 'trial')}?"
    task = find_task(client, task_id or "")
    if task is None:
        raise _no_task(client, task_id or "")
    return f"Delete task {one_line(task.task['id'])}, all its versions and all their trials?"


def _delete_task(client: Client, task_id: str) -> Deleted:
    try:
        return of_task(client, task_id, client.delete_task)
    except ApiError as error:
        if error.http_status != 404:
            raise
        raise _no_task(client, task_id) from None


def _no_task(client: Client, reference: str) -> NotFound:
    """With the command that would fit what else the id may be."""
    if find_trial(client, reference) is not None:
        return NotFound(f"{reference!r} is a trial.", fix=f"To delete it: {command('delete', '--trial', reference)}")
    return NotFound(
        f"{reference!r} is no task here.",
        fix=f"If it is an experiment: {command('delete', '--experiment', reference)}",
    )


def _delete_trials(client: Client, trial_ids: Sequence[str], *, as_json: bool) -> bool:
    """Whether all of them are gone; one that is refused leaves the others."""
    deleted: list[Deleted] = []
    refused: dict[str, OddishError] = {}
    for trial_id in trial_ids:
        try:
            deleted.append(client.delete_trial(trial_id))
        except ApiError as error:
            refused[trial_id] = error
    if as_json:
        trials: list[dict[str, object]] = [
            {"trial_id": one["deleted"], "ok": True, "status": 200, "response": one} for one in deleted
        ]
        trials += [{"trial_id": name, "ok": False, **error_document(error)} for name, error in refused.items()]
        print_json({"trials": trials, "deleted": len(deleted), "failed": len(refused)})
    else:
        for one in deleted:
            say(one["message"])
        for refusal in refused.values():
            print_error(refusal)
    return not refused
