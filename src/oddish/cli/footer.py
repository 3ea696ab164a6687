"""A line that stays below what is printed, on a terminal."""

import shutil
import sys

import click

from oddish.cli.progress import is_terminal
from oddish.cli.text import one_line

_CLEAR = "\r\x1b[K"


class Footer:
    """Elsewhere than on a terminal nothing stays, so nothing of it is shown."""

    def __init__(self) -> None:
        self._terminal = is_terminal(sys.stdout)
        self._text = ""

    def above(self, line: str) -> None:
        """Print a line, with what stays below it."""
        self.clear()
        click.echo(line)
        self._draw()

    def show(self, text: str) -> None:
        """Let ``text`` stay from now on."""
        if text != self._text:
            self.clear()
            self._text = text
            self._draw()

    def clear(self) -> None:
        if self._terminal and self._text:
            click.echo(_CLEAR, nl=False)

    def _draw(self) -> None:
        if self._terminal and self._text:
            width = shutil.get_terminal_size().columns
            click.echo(click.style(one_line(self._text, width - 1), dim=True), nl=False)
