"""Options of ``oddish run`` about what it does after the submission, and what it prints."""

from dataclasses import dataclass

import click

from oddish.cli.gathering import gathered
from oddish.cli.options import json_option

MANNER_OPTIONS = (
    click.option(
        "-w",
        "--watch/--no-watch",
        default=None,
        help="Watch until all trials have ended. This is the default, except with --json.",
    ),
    click.option("-b", "--background", "--async", "background", is_flag=True, help="Submit and return at once."),
    click.option(
        "-q",
        "--quiet",
        "--silent",
        is_flag=True,
        help="Print the results and errors only: nothing of the start, no progress.",
    ),
    json_option,
)


@dataclass(frozen=True)
class Manner:
    watch: bool | None
    background: bool
    quiet: bool
    as_json: bool

    def check(self) -> None:
        """Raises ``click.UsageError``."""
        if self.background and self.watch:
            raise click.UsageError("--background and --watch exclude each other.")

    @property
    def talks(self) -> bool:
        """It tells what it does."""
        return not (self.quiet or self.as_json)

    @property
    def watches(self) -> bool:
        if self.as_json:
            return bool(self.watch)
        return not self.background and self.watch is not False


manner_options = gathered("manner", Manner, MANNER_OPTIONS)
"""The command gets them as ``manner``."""
