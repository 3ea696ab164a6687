"""What a task's directory says about it in the table of a dataset."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from oddish.documents import mapping, read_bytes
from oddish.storable import storable
from oddish.viewer.fields import Fields
from oddish.viewer.findings import Notes
from oddish.viewer.summaries import Task

LIMIT = 256 * 1024


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """A task by its name, and its directory where it is at hand."""

    id: str
    directory: Path | None = None

    def task(self) -> Task:
        """Without cells. The question is ``instruction.md``, the rest is in ``[metadata]`` of task.toml."""
        if self.directory is None:
            return Task(self.id)
        fields = Fields(mapping(self._settings().get("metadata")), "", Notes())
        instruction = self._text("instruction.md")
        return Task(
            id=self.id,
            difficulty_level=fields.number("difficulty_level"),
            difficulty=fields.text("difficulty"),
            question=storable(instruction.strip()) if instruction else None,
            answer=fields.text("answer"),
            reward_mode=fields.text("reward_mode"),
        )

    def _settings(self) -> dict[str, object]:
        try:
            return tomllib.loads(self._text("task.toml") or "")
        except (ValueError, RecursionError):
            return {}

    def _text(self, name: str) -> str | None:
        content, problem = read_bytes(self.directory or Path(), name, LIMIT)
        return None if problem is not None else content.decode(errors="replace")
