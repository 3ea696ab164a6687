"""``oddish export``: finished trials as a dataset of a results directory."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from oddish.cli.group import Command
from oddish.cli.options import api_option, json_option
from oddish.cli.output import notice, print_json, say
from oddish.cli.text import brief, command, one_line, plural

if TYPE_CHECKING:
    from oddish.cli.destinations import Made
    from oddish.viewer.exporting import Exported
    from oddish.viewer.policies import ComparedCell

VERSION = 1
SHOWN = 10
EXAMPLES = """\b
Examples:
  oddish export ./jobs/2026-11-30 --to ./results --project my-bench --dataset eval-v1
  oddish export keen-otter-x7f2 --to ./results --project my-bench --dataset eval-v1
  oddish export keen-otter-x7f2 --to viewer: --project my-bench --dataset eval-v1
  oddish export keen-otter-x7f2 --to hf://buckets/me/results --project my-bench --dataset eval-v1
"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("source", metavar="SOURCE")
@click.option(
    "--to",
    "target",
    required=True,
    metavar="DIR|viewer:|hf://…",
    help="The results directory, made when it is not there, viewer: for the pages of the server, or "
    "hf://buckets/NAMESPACE/NAME[/PATH].",
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
    it was recorded. Where the dataset has other numbers than `oddish status` shows, the command says why.

    With viewer: the dataset is made below .oddish/viewer first and then sent to the server, which checks it and shows
    it at /viewer to those of your organisation, in place of the former export of that name. `oddish open` signs a
    browser in; `oddish delete --export PROJECT/DATASET` takes it away.

    A bucket of the Hugging Face Hub needs HF_TOKEN and the extra oddish[hf]. The dataset is made below .oddish/hf
    first, and what the bucket does not have of it is uploaded, the summary last.
    """
    from oddish.cli.destinations import destination
    from oddish.cli.differences import say_differences
    from oddish.cli.exportable import exportable
    from oddish.viewer.exporting import export as write
    from oddish.viewer.policies import compare

    make = destination(target, api)
    found = exportable(source, api, quiet=as_json)
    made = make(project, dataset, lambda folder: write(found.trials, folder, project, dataset))
    cells = compare([*made.exported.entries, *found.not_ended])
    if as_json:
        print_json(_document(made, project, dataset, found.left_out, cells))
        return
    _notice([f"{one_line(name)} is left out: {brief(reason)}" for name, reason in found.left_out])
    _notice([f"{one_line(name)}: {brief(reason)}" for name, reason in made.exported.flawed])
    _say(made, project, dataset)
    say_differences(cells)
    following = ["open"] if made.url else ["view", str(made.directory)]
    say(f"\nNext:\n  {command(*following)}")


def _notice(lines: list[str]) -> None:
    for line in lines[:SHOWN]:
        notice(line)
    if len(lines) > SHOWN:
        notice(f"and {len(lines) - SHOWN} more; --json lists them")


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


def _document(
    made: "Made", project: str, dataset: str, left_out: list[tuple[str, str]], cells: "Sequence[ComparedCell]"
) -> dict[str, object]:
    from oddish.cli.differences import differences_document

    return {
        "version": VERSION,
        "directory": str(made.directory),
        "bucket": made.bucket,
        "url": made.url,
        "project": project,
        "dataset": dataset,
        **_counts(made.exported),
        "files_uploaded": made.uploaded,
        "files_deleted": made.deleted,
        "left_out": _reasons(left_out),
        "flawed_traces": _reasons(made.exported.flawed),
        "numbers": differences_document(cells),
    }


def _reasons(found: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"trial": name, "reason": reason} for name, reason in found]


def _say(made: "Made", project: str, dataset: str) -> None:
    numbers = _counts(made.exported)
    say(
        f"{one_line(project)}/{one_line(dataset)} in {made.directory}: {plural(numbers['tasks'], 'task')}, "
        f"{plural(numbers['cells'], 'cell')} ({numbers['measured_cells']} measured), "
        f"{plural(numbers['attempts'], 'attempt')}; {plural(numbers['files_written'], 'file')} written, "
        f"{numbers['files_removed']} removed"
    )
    if made.bucket:
        say(f"{made.bucket}: {plural(made.uploaded, 'file')} uploaded, {made.deleted} deleted")
    if made.url:
        say(f"shown at {made.url}")
