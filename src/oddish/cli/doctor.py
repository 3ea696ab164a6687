"""``oddish doctor``: what this machine can run, and why not."""

import json
import os
import subprocess
import sys
from typing import TypedDict, cast

import click

from oddish.cli.group import Command
from oddish.cli.options import api_option, json_option
from oddish.cli.output import print_json, say
from oddish.cli.text import clean, one_line
from oddish.errors import Unavailable

STYLES = {"ok": "green", "warning": "yellow", "problem": "red"}
_PATIENCE = 30.0
"""Seconds. A report takes about one; this is for a machine on which nothing moves."""


class Finding(TypedDict):
    subject: str
    level: str
    found: str
    fix: str | None


class Report(TypedDict):
    ok: bool
    findings: list[Finding]


@click.command(cls=Command)
@api_option
@json_option
@click.pass_context
def doctor(ctx: click.Context, api: str | None, as_json: bool) -> None:
    """Look at this machine and say what can run here, what cannot, and what would change that.

    Each line is ok, a warning (some things do not work, or may go wrong) or a problem (no trial can run). The last line
    is the verdict. Nothing is started or changed.

    \b
    Exit codes:
      0  trials can run; warnings are allowed
      1  no trial can run
      2  the command line cannot be understood
    """
    report = _report(os.environ | ({"ODDISH_API_URL": api} if api else {}))
    if as_json:
        print_json(report)
    else:
        _print(report["findings"])
    ctx.exit(0 if report["ok"] else 1)


def _report(environ: dict[str, str]) -> Report:
    command = [sys.executable, "-P", "-m", "oddish.doctor"]
    try:
        answer = subprocess.run(
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        return cast("Report", json.loads(answer.stdout))
    except subprocess.TimeoutExpired as error:
        raise Unavailable(
            f"The examination has not ended within {_PATIENCE:.0f} s.", fix="Try again when the machine is less busy."
        ) from error
    except ValueError as error:
        said = clean(answer.stderr).strip().splitlines() or [f"exit code {answer.returncode}"]
        raise Unavailable(f"The examination ended early: {said[-1]}", fix="Install oddish again.") from error


def _print(findings: list[Finding]) -> None:
    width = max(len(finding["subject"]) for finding in findings)
    for finding in findings:
        level = click.style(f"{finding['level']:<7}", fg=STYLES.get(finding["level"]), bold=finding["level"] != "ok")
        click.echo(f"{level}  {clean(finding['subject']):<{width}}  {one_line(finding['found'], 1000)}")
        if finding["fix"]:
            say(f"{'':<{9 + width}}  Fix: {one_line(finding['fix'], 1000)}")
