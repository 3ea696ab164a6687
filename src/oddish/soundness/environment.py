"""Checks of a task's environment: is it complete, and does it need a container engine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oddish.soundness.verdict import Check, failed, ok, warning
from oddish.tasks.definition import TaskDefinition

ENVIRONMENT = "environment"
LOCAL = "local"
ELSEWHERE = "Run it with -e docker or in another environment that has it."


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something in a Dockerfile. ``local_only``: a container engine would accept it. ``certain``: else it may work."""

    file: str
    message: str
    fix: str | None
    local_only: bool
    certain: bool


def beyond_local(task: TaskDefinition, flaws: Sequence[Flaw]) -> list[str]:
    """What the task needs and the local sandbox has not."""
    wanted = task.environment
    needs = [
        ("services (environment/docker-compose.yaml)", wanted.has_compose),
        ("Windows", wanted.os == "windows"),
        ("GPUs", wanted.gpus > 0),
        ("a TPU", wanted.needs_tpu),
        ("a list of allowed hosts", wanted.network_mode == "allowlist"),
    ]
    return [
        *(f"The local sandbox has no {name.removeprefix('a ')}." for name, needed in needs if needed),
        *(f"{flaw.file}: {flaw.message}" for flaw in flaws if flaw.local_only and flaw.certain),
    ]


def missing_environment(task: TaskDefinition) -> Check | None:
    """That nothing says what the task runs in, if so: no trial of it can start."""
    wanted = task.environment
    if wanted.docker_image or wanted.has_dockerfile or wanted.has_compose:
        return None
    return failed(
        ENVIRONMENT,
        "environment/ has neither a Dockerfile nor a docker-compose.yaml, and task.toml names no image.",
        "Add environment/Dockerfile, or set docker_image under [environment].",
    )


def check_environment(task: TaskDefinition, flaws: Sequence[Flaw], chosen: str | None) -> Iterator[Check]:
    """``chosen`` is the environment that the trials are to run in, None where the server decides."""
    wanted = task.environment
    if (missing := missing_environment(task)) is not None:
        yield missing
        return
    broken = [flaw for flaw in flaws if not flaw.local_only]
    for flaw in broken:
        yield failed(ENVIRONMENT, f"{flaw.file}: {flaw.message}", flaw.fix)
    needs = beyond_local(task, flaws) if chosen in (None, LOCAL) else []
    for need in needs:
        yield failed(ENVIRONMENT, need, ELSEWHERE) if chosen == LOCAL else warning(ENVIRONMENT, need, ELSEWHERE)
    doubts = [flaw for flaw in flaws if not flaw.certain] if chosen in (None, LOCAL) else []
    for doubt in doubts:
        yield warning(ENVIRONMENT, f"{doubt.file}: {doubt.message}", doubt.fix)
    if not broken and not needs and not doubts:
        source = "Dockerfile" if wanted.has_dockerfile else wanted.docker_image or "docker-compose.yaml"
        yield ok(ENVIRONMENT, source)
