"""When a shell has only waited for the rest of a command. Pure; standard library only."""

import re

_CONTINUATION = re.compile(r"(?:(?:[a-z]+ )*(?:heredoc|[bd]?quote))?>(?: +\S+)?")
"""Of bash, sh and dash ``>``, of zsh ``heredoc>``, ``quote>`` and so on; behind it at most one word, as of a closing
``EOF`` that was typed without its end of line. Prompts of others, such as ``>>>``, ``mysql>`` or ``->``, are none."""


class Standstill:
    """Screens of a terminal, one an episode, and for how many of them nothing has changed at such a prompt."""

    def __init__(self) -> None:
        self.episodes = 0
        """Seen in a row since the screen last changed, that change not counted."""
        self.line = ""
        """The last one of the screen, if the shell waits there."""
        self._screen = ""

    def see(self, screen: str, cursor_column: int) -> None:
        """The screen after another episode. The cursor tells a prompt from output that looks like one, such as the name
        of a script that npm prints and then runs for long: below such a line it is at the margin."""
        line = last_line(screen)
        waits = self.is_prompt(line) and cursor_column >= len(line)
        self.episodes = self.episodes + 1 if waits and screen == self._screen else 0
        self._screen, self.line = (screen, line) if waits else ("", "")

    @staticmethod
    def is_prompt(line: str) -> bool:
        """Whether the line could be the continuation prompt of a shell."""
        return _CONTINUATION.fullmatch(line) is not None


def last_line(screen: str) -> str:
    """The last line that is not blank, without what is blank at its end; an empty one if there is none."""
    return screen.rstrip().rpartition("\n")[2]
