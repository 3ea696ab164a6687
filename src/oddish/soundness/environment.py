"""Checks of a task's environment: is it complete, and does it need a container engine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oddish.soundness.parts import ENVIRONMENT, missing_environment
from oddish.soundness.verdict import Check, failed, ok, warning
from oddish.tasks.definition import TaskDefinition, sandboxes
from oddish.tasks.fit import LOCAL, Finding, findings

ELSEWHERE = "Run it with -e docker or in another environment that has it."


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something in a Dockerfile that can be read. Unless ``certain``, only the local sandbox is concerned, maybe."""

    file: str
    message: str
    fix: str | None
    certain: bool


def refusals(task: TaskDefinition, chosen: str | None) -> list[Finding]:
    """Why a server would refuse the task's trials. ``chosen`` is where they are to run, None: the server decides."""
    if chosen is not None:
        return findings(sandboxes(task), chosen)
    return [finding for finding in findings(sandboxes(task), LOCAL) if finding.everywhere]


def local_obstacles(task: TaskDefinition) -> list[Finding]:
    """Why the local sandbox, and not every environment, refuses the task."""
    return [finding for finding in findings(sandboxes(task), LOCAL) if not finding.everywhere]


def check_environment(task: TaskDefinition, flaws: Sequence[Flaw], chosen: str | None) -> Iterator[Check]:
    """``chosen`` is the environment that the trials are to run in, None where the server decides."""
    wanted = task.environment
    if (missing := missing_environment(task)) is not None:
        yield missing
        return
    refused = refusals(task, chosen)
    broken = [flaw for flaw in flaws if flaw.certain]
    obstacles = local_obstacles(task) if chosen is None else []
    doubts = [flaw for flaw in flaws if not flaw.certain] if chosen in (None, LOCAL) else []
    yield from (failed(ENVIRONMENT, finding.sentence, finding.fix) for finding in refused)
    yield from (failed(ENVIRONMENT, f"{flaw.file}: {flaw.message}", flaw.fix) for flaw in broken)
    yield from (warning(ENVIRONMENT, finding.sentence, finding.fix) for finding in obstacles)
    yield from (warning(ENVIRONMENT, f"{doubt.file}: {doubt.message}", doubt.fix) for doubt in doubts)
    if not (refused or broken or obstacles or doubts):
        source = "Dockerfile" if wanted.has_dockerfile else wanted.docker_image or "docker-compose.yaml"
        yield ok(ENVIRONMENT, source)
