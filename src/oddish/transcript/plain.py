"""Agents of which nothing is known but that they print: every line is a message, and there is no usage."""

from oddish.transcript.adapter import Source
from oddish.transcript.events import Event
from oddish.transcript.lines import LineAdapter

EXIT_CODE = "exit-code.txt"
"""Written by the oracle when it has ended."""


class PlainText(LineAdapter):
    """The text files beside the agent's other logs."""

    sources = (Source("*.txt"),)

    def feed(self, path: str, data: bytes) -> list[Event]:
        return [] if path == EXIT_CODE else super().feed(path, data)
