"""Commands that are imported when they are called, and how each of them ends."""

import errno
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from oddish.errors import OddishError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

INTERRUPTED = 130


class LazyGroup(click.Group):
    """Knows the name, module and one-line summary of each command, so that ``--help`` imports none of them."""

    def __init__(self, *, commands_by_name: dict[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands_by_name = commands_by_name

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and exit: 2 for a command line that cannot be understood, 130 after Ctrl-C.

        Under ``--json`` these ends are documents too. A reader that closes the pipe ends the command quietly with 1;
        where else standard output cannot be written, a sentence says so.
        """
        given = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in given

        def run() -> Any:
            return click.Group.main(
                self,
                given,
                prog_name=prog_name,
                complete_var=complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )

        if not standalone_mode:
            return run()
        try:
            code = _code(run, as_json=as_json)
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError as error:
            if error.filename is not None or _takes_output():
                raise
            _drop_output(error)
            code = 1
        sys.exit(code)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        known = self.commands_by_name.get(cmd_name)
        if known is None:
            return None
        command = getattr(importlib.import_module(known[0]), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem[str]]":
        """The commands, none of which is imported, and what completes any command."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=summary)
            for name, (_, summary) in self.commands_by_name.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Names the closest commands when there is none of that name."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=self.commands_by_name, ctx=ctx) from None

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


def _code(run: Callable[[], Any], *, as_json: bool) -> int:
    """The exit code of a command that has run and said how it ended."""
    try:
        code = run()
    except click.ClickException as error:
        _show(error, as_json=as_json)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _end(as_json, {"error": "Interrupted.", "code": "interrupted"}, "Interrupted.")
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _takes_output() -> bool:
    """Whether standard output can be written, which errors of files do not say of themselves."""
    try:
        click.echo()
    except OSError:
        return False
    return True


def _drop_output(error: OSError) -> None:
    """Say why, and let Python end without trying again."""
    if error.errno != errno.EPIPE:
        from oddish.cli.output import print_error
        from oddish.errors import Unavailable

        told = Unavailable(
            f"Standard output cannot be written: {error.strerror}.",
            fix="Send it to a terminal, or to a file on a disk that has free space and that you may write to.",
        )
        with suppress(OSError):
            print_error(told)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _show(error: click.ClickException, *, as_json: bool) -> None:
    if not as_json:
        error.show()
        return
    context = error.ctx if isinstance(error, click.UsageError) else None
    help_of = f"See: {context.command_path} --help" if context else "See: oddish --help"
    _end(True, {"error": error.format_message(), "code": "usage", "fix": help_of}, "")


def _end(as_json: bool, document: dict[str, str], sentence: str) -> None:
    if as_json:
        from oddish.cli.output import print_line

        print_line(document)
    else:
        click.echo(sentence, err=True)
