"""The one place that writes: sentences, JSON, errors and rich consoles."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from oddish.cli.text import clean, json_text
from oddish.errors import InvalidInput, OddishError

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 1000
LINE_EVERY = 5.0
"""Seconds between two lines about how far something is, where nobody looks at a bar."""


def say(text: str = "", *, err: bool = False) -> None:
    click.echo(clean(text), err=err)


def notice(text: str) -> None:
    """Something to know that is no result, and therefore not on standard output. Under ``--quiet`` it is not said."""
    if not _quiet():
        say(text, err=True)


def noticing() -> Callable[[str], None]:
    """``notice`` for any thread: only the one that runs the command knows whether it is quiet."""
    quiet = _quiet()
    return lambda text: None if quiet else say(text, err=True)


def _quiet() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.params.get("quiet"))


def warn(text: str) -> None:
    """Something that makes what is printed with it look different."""
    click.echo(click.style(clean(text), fg="red", bold=True))


def print_json(document: object) -> None:
    click.echo(json_text(document, indent=2))


def print_line(document: object) -> None:
    """JSON on one line: errors are, so that they can end a stream of lines."""
    click.echo(json_text(document))


def print_error(error: OddishError, *, as_json: bool = False) -> None:
    if as_json:
        print_line(error_document(error))
        return
    click.echo(f"{click.style('Error:', fg='red', bold=True)} {clean(error.message)}", err=True)
    if error.fix:
        click.echo(f"{click.style('Fix:', fg='cyan')} {clean(error.fix)}", err=True)


def error_document(error: OddishError) -> dict[str, object]:
    from oddish.client.errors import ApiError

    code, status = error.code, error.status
    if isinstance(error, ApiError):
        code, status = error.problem_code, error.http_status
    document: dict[str, object] = {"error": error.message, "code": code, "status": status}
    return document | ({"fix": error.fix} if error.fix else {})


def console() -> "Console":
    """A console that takes text literally. Where nobody watches, lines are as long as their content."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    return Console(markup=False, highlight=False, emoji=False, width=None if terminal else WIDE, soft_wrap=not terminal)


def confirmed(question: str, undone: str, option: str, *, default: bool = False) -> bool:
    """Ask on standard error.

    When no answer comes, the line is ended and ``InvalidInput`` raised, with what stays ``undone``.
    """
    try:
        return click.confirm(question, default=default, err=True)
    except click.Abort as abort:
        click.echo(err=True)
        if interrupted(abort):
            raise
        raise InvalidInput(f"The question was not answered, so {undone}.", fix=f"Add {option}.") from None


def interrupted(abort: click.Abort) -> bool:
    """Whether it was Ctrl-C that ended a question, not the end of the input."""
    return isinstance(abort.__context__, KeyboardInterrupt)
