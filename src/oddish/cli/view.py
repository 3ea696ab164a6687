"""``oddish view``: a results directory."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oddish import desktop
from oddish.cli.group import Command
from oddish.cli.options import json_option
from oddish.cli.output import print_json, say
from oddish.cli.process import become
from oddish.cli.text import number, one_line, plural

if TYPE_CHECKING:
    from oddish.viewer.checking import DatasetReport, ProjectReport, Report
    from oddish.viewer.findings import Finding

VERSION = 1
STYLES = {"error": "red", "warning": "yellow"}
LINE = 1000
EXAMPLES = """\b
Examples:
  oddish view ./results
  oddish view ./results --check
  DATA_DIR=./results oddish view --check --json
"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument(
    "directory",
    metavar="[DIR]",
    envvar="DATA_DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--host", metavar="ADDRESS", help="Address to listen on, another than this machine's own with --public.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port to listen on. Default: 8790, or the next one that is free."
)
@click.option(
    "--open/--no-browser", "opens", default=None, help="Open a browser. Default: where this machine has a desktop."
)
@click.option("--public", is_flag=True, help="Show it to whoever reaches the address, without any sign-in.")
@click.option("--check", is_flag=True, help="Read everything and say what is wrong with it, instead.")
@json_option
@click.pass_context
def view(
    ctx: click.Context,
    directory: Path,
    host: str | None,
    port: int | None,
    opens: bool | None,
    public: bool,
    check: bool,
    as_json: bool,
) -> None:
    """Look at a results directory: projects, their datasets with tasks and traces, their training runs.

    DIR is the directory above projects/, by default DATA_DIR. It is only read. Pages are served on this machine until
    Ctrl-C, to the browser that follows the link which is printed; 'oddish open DIR' gives another link.

    With --check, its files are compared with their contract, the numbers in them with those that follow from the
    attempts.

    \b
    Exit codes:
      0  shown, or no error; warnings are allowed
      1  an error: something cannot be shown, or breaks the contract
      2  the command line cannot be understood
    """
    if not check:
        shows = not as_json and desktop.is_there() if opens is None else opens
        become("oddish.web", _arguments(directory, host=host, port=port, open=shows, public=public, json=as_json))
    if host is not None or port is not None or opens or public:
        raise click.UsageError("--check serves no pages; leave out what says how they are served.")
    from oddish.viewer.checking import check as examine

    report = examine(directory)
    if as_json:
        print_json(_document(directory, report))
    else:
        _print(report)
    ctx.exit(0 if report.ok else 1)


def _arguments(directory: Path, **options: str | int | bool | None) -> list[str]:
    words = [str(directory.absolute())]
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value is not None and value is not False:
            words.append(f"--{name}={value}")
    return words


def _print(report: "Report") -> None:
    for project in report.projects:
        _print_project(project)
    for finding in report.findings:
        _print_finding(finding)
    errors = sum(finding.level == "error" for finding in report.findings)
    warnings = len(report.findings) - errors
    say(f"{plural(len(report.projects), 'project')}: {plural(errors, 'error')}, {plural(warnings, 'warning')}")


def _print_project(project: "ProjectReport") -> None:
    label = f"  {one_line(project.label)}" if project.label else ""
    say(f"{one_line(project.id)}{label}")
    for dataset in project.datasets:
        say(f"  dataset {one_line(dataset.id)}: {_dataset(dataset)}")
    for run in project.runs:
        say(f"  run {one_line(run.id)}: {plural(run.steps, 'step')}")
    say()


def _dataset(dataset: "DatasetReport") -> str:
    """No rate without what it is a rate of."""
    rates = ", ".join(f"pass@{k} {number(share)}" for k, share in dataset.pass_at.items())
    parts = [
        f"{plural(dataset.tasks, 'task')}, {plural(dataset.cells, 'cell')}, {plural(dataset.attempts, 'attempt')}, "
        f"{plural(dataset.traces, 'trace')}",
        f"{rates} ({dataset.measured_cells} of {plural(dataset.cells, 'cell')} measured)",
    ]
    if dataset.n_all_infra:
        parts.append(f"{plural(dataset.n_all_infra, 'task')} without any measured attempt")
    return "; ".join(parts)


def _print_finding(finding: "Finding") -> None:
    level = click.style(f"{finding.level:<7}", fg=STYLES[finding.level], bold=True)
    click.echo(f"{level}  {one_line(finding.place, LINE)}: {one_line(finding.found, LINE)}")
    if finding.fix:
        say(f"         Fix: {one_line(finding.fix, LINE)}")


def _document(directory: Path, report: "Report") -> dict[str, object]:
    projects = [asdict(project) for project in report.projects]
    for project in projects:
        for dataset in project["datasets"]:
            dataset |= {f"pass@{k}": share for k, share in dataset.pop("pass_at").items()}
    return {
        "version": VERSION,
        "directory": str(directory),
        "ok": report.ok,
        "projects": projects,
        "findings": [asdict(finding) for finding in report.findings],
    }
