"""What ``run`` says of the files of tasks before it sends them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from oddish.cli.datasets import Dataset
from oddish.cli.output import notice
from oddish.cli.text import command, joined, plural
from oddish.errors import InvalidTask
from oddish.soundness.glance import ORACLE, glance
from oddish.soundness.verdict import Check
from oddish.tasks.definition import TaskDefinition
from oddish.tasks.package import PublishedFile

SHOWN = 10
NAMED = 3


@dataclass
class Flaws:
    """What is wrong with tasks that ``agents`` are to attempt, each flaw with the tasks that have it."""

    agents: Iterable[str]
    _found: dict[Check, list[str]] = field(default_factory=dict)

    def look(self, task: TaskDefinition, published: Sequence[PublishedFile]) -> None:
        for check in dict.fromkeys(chain.from_iterable(glance(task, published, agent) for agent in self._kinds())):
            self._found.setdefault(check, []).append(task.name)

    def _kinds(self) -> list[str]:
        """One agent of each kind: oracle, which needs a solution, and those that need an instruction."""
        return list({agent == ORACLE: agent for agent in self.agents}.values())

    def tell(self, sources: Iterable[Path | Dataset]) -> None:
        """A line for each, of the tasks of ``sources``. Raises ``InvalidTask`` for what cannot start."""
        for check, names in self._found.items():
            if check.level == "failed":
                raise InvalidTask(f"{_subject(names)}: {check.found}", fix=check.fix)
        lines = [
            f"Warning: {_subject(names)}: {check.found} {check.fix or ''}".rstrip()
            for check, names in self._found.items()
        ]
        for line in lines[:SHOWN]:
            notice(line)
        if len(lines) > SHOWN:
            directories = [str(source) for source in sources if isinstance(source, Path)]
            shown_by = f"; all of them: {command('check', '--skip-trials', *directories)}" if directories else ""
            notice(f"and {plural(len(lines) - SHOWN, 'warning')} more{shown_by}")


def _subject(names: Sequence[str]) -> str:
    return f"Task {names[0]}" if len(names) == 1 else f"{len(names)} tasks ({joined(names, NAMED)})"
