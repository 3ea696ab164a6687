"""``oddish export``: finished trials as a dataset of a results directory."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oddish.cli.group import Command
from oddish.cli.options import api_option, json_option
from oddish.cli.output import notice, print_json, say
from oddish.cli.pull import BASE
from oddish.cli.text import brief, command, one_line, plural

if TYPE_CHECKING:
    from oddish.publishing.bucket import Bucket
    from oddish.pull.folder import Folder
    from oddish.viewer.exporting import Exported

VERSION = 1
SHOWN = 10
EXAMPLES = """\b
Examples:
  oddish export ./jobs/2026-11-30 --to ./results --project my-bench --dataset eval-v1
  oddish export keen-otter-x7f2 --to ./results --project my-bench --dataset eval-v1
  oddish export keen-otter-x7f2 --to hf://buckets/me/results --project my-bench --dataset eval-v1
"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("source", metavar="SOURCE")
@click.option(
    "--to",
    "target",
    required=True,
    metavar="DIR|hf://…",
    help="The results directory, made when it is not there, or hf://buckets/NAMESPACE/NAME[/PATH].",
)
@click.option("--project", required=True, metavar="ID", help="The project in it, made when it is not there.")
@click.option("--dataset", required=True, metavar="ID", help="The dataset in that. An earlier export is replaced.")
@api_option
@json_option
def export(source: str, target: str, project: str, dataset: str, api: str | None, as_json: bool) -> None:
    """Make finished trials a dataset of a results directory.

    SOURCE is a directory (a Harbor job, several of them, or what `oddish pull` copied), else the name or id of an
    experiment, a task or a trial, whose files are copied to .oddish/SOURCE first. The command can be repeated: what
    has not changed is not written again, and each file is replaced in one step. Traces hold what agents said and did as
    it was recorded.

    A bucket of the Hugging Face Hub needs HF_TOKEN and the extra oddish[hf]. The dataset is made below .oddish/hf
    first, and what the bucket does not have of it is uploaded, the summary last.
    """
    from oddish.cli.exportable import exportable
    from oddish.viewer.exporting import export as write

    bucket = _bucket(target)
    found = exportable(source, api, quiet=as_json)
    made = _make(bucket, target, project, dataset, lambda folder: write(found.trials, folder, project, dataset))
    left_out = [*found.left_out, *made.exported.left_out]
    if as_json:
        print_json(_document(made, project, dataset, left_out))
        return
    for name, reason in left_out[:SHOWN]:
        notice(f"{one_line(name)} is left out: {brief(reason)}")
    if len(left_out) > SHOWN:
        notice(f"and {len(left_out) - SHOWN} more; --json lists them")
    _say(made, project, dataset)


@dataclass(frozen=True)
class _Made:
    exported: "Exported"
    directory: Path
    bucket: str | None = None
    uploaded: int = 0
    deleted: int = 0


def _bucket(target: str) -> "Bucket | None":
    """The bucket that is meant, which is there; None for a directory."""
    if "://" not in target:
        return None
    from oddish.publishing.address import read_address
    from oddish.publishing.bucket import Bucket

    bucket = Bucket(read_address(target))
    bucket.check()
    return bucket


def _make(
    bucket: "Bucket | None", target: str, project: str, dataset: str, write: "Callable[[Folder], Exported]"
) -> _Made:
    from oddish.pull.folder import Folder

    if bucket is None:
        with Folder(directory := Path(target)) as folder:
            exported = write(folder)
            folder.forget_partial()
        return _Made(exported, directory)
    from oddish.publishing.publishing import publish

    address = bucket.address
    directory = BASE.joinpath("hf", address.namespace, address.name, *address.path)
    published = publish(bucket, directory, project, dataset, write)
    return _Made(published.exported, directory, str(address), published.uploaded, published.deleted)


def _counts(exported: "Exported") -> dict[str, int]:
    from oddish.viewer.aggregates import counts, overall

    found, rates = counts(exported.summary), overall(exported.summary).group
    return {
        "tasks": found.tasks_total,
        "cells": rates.cells,
        "measured_cells": rates.n_measured,
        "attempts": found.attempts_total,
        "n_all_infra": found.n_all_infra,
        "files_written": exported.files_written,
        "files_removed": exported.files_removed,
    }


def _document(made: _Made, project: str, dataset: str, left_out: list[tuple[str, str]]) -> dict[str, object]:
    return {
        "version": VERSION,
        "directory": str(made.directory),
        "bucket": made.bucket,
        "project": project,
        "dataset": dataset,
        **_counts(made.exported),
        "files_uploaded": made.uploaded,
        "files_deleted": made.deleted,
        "left_out": [{"trial": name, "reason": reason} for name, reason in left_out],
    }


def _say(made: _Made, project: str, dataset: str) -> None:
    numbers = _counts(made.exported)
    say(
        f"{one_line(project)}/{one_line(dataset)} in {made.directory}: {plural(numbers['tasks'], 'task')}, "
        f"{plural(numbers['cells'], 'cell')} ({numbers['measured_cells']} measured), "
        f"{plural(numbers['attempts'], 'attempt')}; {plural(numbers['files_written'], 'file')} written, "
        f"{numbers['files_removed']} removed"
    )
    if made.bucket:
        say(f"{made.bucket}: {plural(made.uploaded, 'file')} uploaded, {made.deleted} deleted")
    say(f"\nNext:\n  {command('view', str(made.directory), '--check')}")
