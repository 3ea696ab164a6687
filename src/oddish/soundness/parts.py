"""Checks of what a task is made of: its keys, instruction, solution, tests and time limits."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from oddish.soundness.contents import Content
from oddish.soundness.verdict import Check, failed, ok, warning
from oddish.tasks.definition import TaskDefinition
from oddish.tasks.keys import unknown_keys

KEYS, INSTRUCTION, SOLUTION, REWARD, LIMITS = "keys", "instruction", "solution", "reward", "time limits"
ENVIRONMENT = "environment"
DEADLINE_SECONDS = 12 * 3600
"""What a deployment ends attempts after, unless it is set otherwise."""
_REWARD = re.compile(rb"reward\.(txt|json)|/logs/verifier|verifier_dir", re.IGNORECASE)
_BEGINNINGS = {"linux": "solve.sh", "windows": "solve.bat"}


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


def check_keys(document: dict[str, Any]) -> Iterator[Check]:
    """``document`` is the parsed task.toml."""
    unknown = unknown_keys(document)
    for found in unknown:
        fix = f"Write {found.closest}." if found.closest else "Move it below [metadata], or remove it."
        yield warning(KEYS, f"task.toml: nothing reads {found.key}.", fix)
    if not unknown:
        yield ok(KEYS, "every key of task.toml is read")


def check_instruction(task: TaskDefinition) -> Check:
    places = [f"steps/{step.name}/instruction.md" for step in task.steps] or ["instruction.md"]
    empty = [place for place in places if not (task.directory / place).read_text("utf-8").strip()]
    if empty:
        return failed(
            INSTRUCTION, f"{' and '.join(empty)} is empty: the agent is told nothing.", "Write what has to be done."
        )
    return ok(INSTRUCTION, "there is one" if len(places) == 1 else f"each of {len(places)} steps has one")


def check_solution(task: TaskDefinition) -> Check:
    """Where Harbor's oracle would look: a step's own solution, else the task's."""
    script = _BEGINNINGS[task.environment.os]
    missing = [place for place in _solution_places(task) if not (task.directory / place / script).is_file()]
    if missing:
        return failed(
            SOLUTION,
            f"{missing[0]}/{script} is missing: nothing shows that the task can be solved.",
            "Write one; the oracle runs it and should earn 1.",
        )
    return ok(SOLUTION, "there is one")


def check_reward(task: TaskDefinition, files: Sequence[Content]) -> Check:
    """A guess: the name of a reward file, or its directory, stands somewhere in the tests."""
    for step in task.steps or (None,):
        places = ("tests/",) if step is None else (f"steps/{step.name}/tests/", "tests/")
        if not any(file.path.startswith(places) and _REWARD.search(file.head) for file in files):
            return warning(
                REWARD,
                f"No file in {places[0]} mentions reward.txt or reward.json.",
                "Let tests/test.sh write a number to /logs/verifier/reward.txt in every case.",
            )
    return ok(REWARD, "the tests mention a reward file")


def check_limits(task: TaskDefinition) -> Iterator[Check]:
    unset = task.agent_timeout_sec is None and (
        not task.steps or any(step.agent_timeout_sec is None for step in task.steps)
    )
    if unset:
        yield warning(
            LIMITS,
            "agent.timeout_sec is not set: an agent may go on until the deployment ends the trial.",
            "Set it to what a capable agent needs.",
        )
    for timeout in task.timeouts:
        if timeout.seconds > DEADLINE_SECONDS:
            yield warning(
                LIMITS,
                f"{timeout.key} is {timeout.seconds:g} s; a trial ends after {DEADLINE_SECONDS // 3600} h by default.",
                "Lower it, or have ODDISH_ATTEMPT_DEADLINE_SECONDS raised.",
            )
    if not unset and all(timeout.seconds <= DEADLINE_SECONDS for timeout in task.timeouts):
        yield ok(LIMITS, f"the agent has {_agent_limit(task)}, the verifier {task.verifier_timeout_sec:g} s")


def _agent_limit(task: TaskDefinition) -> str:
    limits = [step.agent_timeout_sec or task.agent_timeout_sec for step in task.steps] or [task.agent_timeout_sec]
    return f"{sum(limit for limit in limits if limit):g} s"


def _solution_places(task: TaskDefinition) -> list[Path]:
    if not task.steps:
        return [Path("solution")]
    own = [Path("steps", step.name, "solution") for step in task.steps]
    return list(dict.fromkeys(place if (task.directory / place).is_dir() else Path("solution") for place in own))
