"""``oddish run --dry-run``: what would be sent and asked for, found out without any server."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from oddish.cli.output import print_json, say
from oddish.cli.submit import Plan
from oddish.cli.tables import print_table, table
from oddish.cli.text import one_line, plural
from oddish.cli.trials import model_label
from oddish.client.types import SweepConfig
from oddish.tasks.definition import task_name
from oddish.tasks.package import content_hash, publish_set

LISTED = 50
"""Rows, one for each task and agent."""
KIB = 1024

dry_run_option = click.option(
    "--dry-run",
    is_flag=True,
    help="Say what would be sent and asked for, and create nothing. No server is asked, so trials that the experiment "
    "has already are not counted off.",
)


@dataclass(frozen=True)
class Parcel:
    """A task as it would be sent; of one that the server has, nothing but its id as ``name``."""

    name: str
    path: Path | None = None
    content_hash: str | None = None
    files: int = 0
    size: int = 0
    """Bytes before they are packed."""

    @classmethod
    def of(cls, task: Path) -> "Parcel":
        published = publish_set(task)
        size = sum(file.size for file in published)
        return cls(task_name(task.resolve().name), task, content_hash(published), len(published), size)


def rehearse(tasks: Sequence[Path], appended: str | None, plan: Plan, *, experiment: str | None, as_json: bool) -> None:
    """Print what ``plan`` comes to for ``tasks``, or for one that the server has; ``experiment`` as it was named.

    Raises ``InvalidTask``.
    """
    parcels = [Parcel.of(task) for task in tasks] if appended is None else [Parcel(appended)]
    if as_json:
        print_json(document(parcels, plan, experiment))
        return
    say("Dry run: nothing is sent, and nothing is created.")
    say(f"Experiment {one_line(experiment) if experiment else 'of its own, with a new name'}\n")
    _print(parcels, plan)
    trials = plan.trials_of_task * len(parcels)
    say(f"\n{plural(len(parcels), 'task')}, {plural(trials, 'trial')} at most: those that are there already count.")
    for name, value in plan.labels.members().items():
        say(f"  {name}: {one_line(json.dumps(value, ensure_ascii=False))}")


def document(parcels: Sequence[Parcel], plan: Plan, experiment: str | None) -> dict[str, object]:
    """Values of variables and tokens are no part of it."""
    return {
        "dry_run": True,
        "experiment": experiment,
        "priority": plan.priority,
        "max_trial_attempts": plan.max_trial_attempts,
        "max_cost_usd": plan.cost_limit and plan.cost_limit.usd,
        "user": plan.user,
        "force_new_version": plan.force_new_version,
        "gate_baselines": plan.gate_baselines,
        "harbor": dict(plan.harbor),
        "labels": plan.labels.members(),
        "total_trials": plan.trials_of_task * len(parcels),
        "tasks": [
            {
                "name": parcel.name,
                "path": parcel.path and str(parcel.path),
                "content_hash": parcel.content_hash,
                "files": parcel.files,
                "bytes": parcel.size,
                "agents": [_agent(config) for config in plan.configs],
            }
            for parcel in parcels
        ],
    }


def _agent(config: SweepConfig) -> Mapping[str, object]:
    return {
        "agent": config["agent"],
        "model": config["model"],
        "n_trials": config["n_trials"],
        "environment": config.get("environment"),
    }


def _print(parcels: Sequence[Parcel], plan: Plan) -> None:
    made = table("Task", "Files", "KiB", "Agent", "Model", "Trials", "Where", right=("Files", "KiB", "Trials"))
    rows = [(parcel, config) for parcel in parcels for config in plan.configs]
    for parcel, config in rows[:LISTED]:
        made.add_row(
            one_line(parcel.name),
            str(parcel.files),
            str(-(-parcel.size // KIB)),
            one_line(config["agent"]),
            model_label(config["model"]),
            str(config["n_trials"]),
            one_line(config.get("environment") or "server decides"),
        )
    if len(rows) > LISTED:
        made.add_row(f"and {len(rows) - LISTED} more", *[""] * 6)
    print_table(made)
