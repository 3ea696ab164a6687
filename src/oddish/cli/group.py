"""Commands that are imported when they are called, and how each of them ends."""

import importlib
from typing import Any

import click

from oddish.errors import OddishError

INTERRUPTED = 130


class LazyGroup(click.Group):
    """Knows the name, module and one-line summary of each command, so that ``--help`` imports none of them."""

    def __init__(self, *, commands_by_name: dict[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands_by_name = commands_by_name

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        known = self.commands_by_name.get(cmd_name)
        if known is None:
            return None
        command = getattr(importlib.import_module(known[0]), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self.commands_by_name.items()])


class Command(click.Command):
    """A command whose refusals are printed as a sentence, or as JSON under ``--json``, and end with exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OddishError as error:
            from oddish.cli.output import print_error

            print_error(error, as_json=bool(ctx.params.get("as_json")))
            ctx.exit(1)
        except KeyboardInterrupt:
            click.echo("\nInterrupted.", err=True)
            ctx.exit(INTERRUPTED)
