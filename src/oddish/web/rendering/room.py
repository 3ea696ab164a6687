"""The texts of one page: each as it is meant to be read, and all of them no more than a page should hold."""

from markupsafe import Markup

from oddish.web.rendering import code, diff, markdown, terminal
from oddish.web.rendering.folding import LINES
from oddish.web.rendering.visible import CHARACTERS, Rendered, clipped, visible

PAGE_CHARACTERS = 500_000
MARKDOWN_CHARACTERS = 60_000
"""Of a page that are read as Markdown, which takes a hundred times as long as to show them as they are."""
WHOLE_CHARACTERS = 500_000
"""Of a text that is asked for alone."""


class Room:
    """What was shown leaves less room for what follows. ``whole``: texts are neither cut short nor folded."""

    def __init__(self, *, whole: bool = False) -> None:
        self._left = WHOLE_CHARACTERS if whole else PAGE_CHARACTERS
        self._markdown_left = MARKDOWN_CHARACTERS
        self._most = WHOLE_CHARACTERS if whole else CHARACTERS
        self._lines = WHOLE_CHARACTERS if whole else LINES
        self._anchors: set[str] = set()

    def words(self, text: str) -> Rendered:
        """What somebody says."""
        if len(text[: self._most]) > self._markdown_left:
            return self.code(text)
        self._markdown_left -= len(text)
        return markdown.markdown(text, self._take(text))

    def printed(self, text: str) -> Rendered:
        """What a program printed."""
        return terminal.terminal(text, self._take(text), self._lines)

    def code(self, text: str) -> Rendered:
        """What is to be read as it is written."""
        return code.code(text, self._take(text), self._lines)

    def diff(self, old: str, new: str) -> Rendered:
        return diff.diff(old, new, self._take(max(old, new, key=len)))

    def line(self, text: str) -> Markup:
        """A short text in a line."""
        return Markup("{}").format(visible(clipped(text, CHARACTERS)[0]))

    def anchor(self, name: str) -> Markup:
        """The attribute ``id``, where it is the first of its name: the next one would be ambiguous."""
        if name in self._anchors:
            return Markup("")
        self._anchors.add(name)
        return Markup('id="{}"').format(name)

    def _take(self, text: str) -> int:
        taken = min(len(text), self._most, self._left)
        self._left -= taken
        return taken
