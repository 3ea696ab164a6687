"""What a task's directory says about it in the table of a dataset."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from oddish.documents import mapping, mappings, read_bytes, text
from oddish.storable import storable
from oddish.viewer.fields import Fields
from oddish.viewer.findings import Notes
from oddish.viewer.summaries import Task

LIMIT = 256 * 1024
MOST_INSTRUCTIONS = 20
"""Of a task and its steps."""


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """A task by its name, and its directory where it is at hand."""

    id: str
    directory: Path | None = None

    def task(self) -> Task:
        """Without cells. Instructions, also those of steps, are the question; ``[metadata]`` has the rest."""
        if self.directory is None:
            return Task(self.id)
        settings = self._settings()
        fields = Fields(mapping(settings.get("metadata")), "", Notes())
        question = "\n\n".join(self._instructions(settings))
        return Task(
            id=self.id,
            difficulty_level=fields.number("difficulty_level"),
            difficulty=fields.text("difficulty"),
            question=storable(question) or None,
            answer=fields.text("answer"),
            reward_mode=fields.text("reward_mode"),
        )

    def _instructions(self, settings: Mapping[str, object]) -> Iterator[str]:
        steps = [name for step in mappings(settings.get("steps")) if (name := text(step.get("name")))]
        for place in islice(("instruction.md", *(f"steps/{step}/instruction.md" for step in steps)), MOST_INSTRUCTIONS):
            if instruction := (self._text(place) or "").strip():
                yield instruction

    def _settings(self) -> dict[str, object]:
        try:
            return tomllib.loads(self._text("task.toml") or "")
        except (ValueError, RecursionError):
            return {}

    def _text(self, name: str) -> str | None:
        content, problem = read_bytes(self.directory or Path(), name, LIMIT)
        return None if problem is not None else content.decode(errors="replace")
