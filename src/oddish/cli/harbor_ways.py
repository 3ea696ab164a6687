"""What does here what an option of ``harbor run`` does that ``oddish run`` has not."""

import click

from oddish.cli.group import Command

WAYS = {
    "--jobs-dir": "Results stay with the server; `oddish pull EXPERIMENT` writes them as a job of Harbor's.",
    "--n-concurrent": "Workers have slots, and models limits: `oddish admin limits set KEY N`.",
}
LETTERS = {"-o": "--jobs-dir", "-n": "--n-concurrent"}
TABLE = "docs/reference/harbor-flags.md"


class HarborLike(Command):
    """A command that is called with the habits of ``harbor run``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            way = WAYS.get(LETTERS.get(error.option_name, error.option_name), "")
            said = f"{error.format_message()} {way}".rstrip()
            raise click.UsageError(f"{said} All of Harbor's options: {TABLE}", ctx) from None
