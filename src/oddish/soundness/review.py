"""Everything that a task's files tell, before anything is run."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from oddish.errors import OddishError
from oddish.soundness.contents import read_contents
from oddish.soundness.dockerfiles import flaws_of
from oddish.soundness.environment import Flaw, check_environment, local_obstacles, refusals
from oddish.soundness.files import check_files, check_scripts, check_secrets
from oddish.soundness.parts import (
    SOLUTION,
    check_instruction,
    check_keys,
    check_limits,
    check_reward,
    check_solution,
)
from oddish.soundness.verdict import Check, failed, ok
from oddish.tasks.definition import TaskDefinition, load_task
from oddish.tasks.structure import CONFIG_FILE
from oddish.tasks.timeouts import check_timeouts

STRUCTURE = "structure"


@dataclass(frozen=True, slots=True)
class Review:
    """One task directory. ``definition`` is None for one that cannot be understood."""

    directory: Path
    definition: TaskDefinition | None
    checks: tuple[Check, ...]
    sendable: bool
    """Whether a server would take it."""
    local_obstacle: str | None = None
    """Why the local sandbox, and not every environment, refuses it."""

    @property
    def name(self) -> str:
        return self.definition.name if self.definition else self.directory.resolve().name

    @property
    def has_solution(self) -> bool:
        return any(check.name == SOLUTION and check.level == "ok" for check in self.checks)


def review(directories: Sequence[Path], environment: str | None = None) -> list[Review]:
    """``environment`` is the one that trials are to run in, None where the server decides. Raises ``Unavailable``."""
    resolved = [directory.resolve() for directory in directories]
    flaws = flaws_of(resolved)
    reviews = [_review(directory, flaws[directory], environment) for directory in resolved]
    return list(_with_different_names(reviews))


def _review(directory: Path, flaws: Sequence[Flaw], environment: str | None) -> Review:
    try:
        task = load_task(directory)
        check_timeouts(task.timeouts)
    except OddishError as error:
        return Review(directory, None, (failed(STRUCTURE, error.message, error.fix),), sendable=False)
    contents = read_contents(directory)
    checks = [
        ok(STRUCTURE, "what a task needs is there"),
        *check_keys(tomllib.loads((directory / CONFIG_FILE).read_text("utf-8"))),
        check_instruction(task),
        check_solution(task),
        check_reward(task, contents.files),
        *check_limits(task),
        *check_environment(task, flaws, environment),
        *check_files(contents),
        check_scripts(contents.files),
        check_secrets(contents.files),
    ]
    sendable = contents.refusal is None and not refusals(task, environment)
    obstacles = local_obstacles(task)
    return Review(directory, task, tuple(checks), sendable, obstacles[0].sentence if obstacles else None)


def _with_different_names(reviews: Sequence[Review]) -> Iterator[Review]:
    """Two directories of one name would become versions of one task."""
    first: dict[str, Path] = {}
    for found in reviews:
        other = first.setdefault(found.name, found.directory)
        if other == found.directory:
            yield found
            continue
        clash = failed(STRUCTURE, f"{other} has the same name: both are task {found.name}.", "Rename one of them.")
        yield Review(found.directory, found.definition, (clash, *found.checks), sendable=False)
