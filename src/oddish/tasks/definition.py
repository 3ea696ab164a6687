"""Reading one task directory and deciding, without the engine, whether the engine could run it.

Standard library only: the command line imports it.
"""

import re
import tomllib
import unicodedata
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from oddish.errors import InvalidInput, InvalidTask
from oddish.tasks.config import check_config
from oddish.tasks.fields import FieldError
from oddish.tasks.structure import CONFIG_FILE, check_structure
from oddish.tasks.surroundings import agent_networks, verifier_places
from oddish.tasks.timeouts import Timeout, timeouts
from oddish.tasks.variables import Variable, variables

MAX_NAME_LENGTH = 255
MAX_CONFIG_BYTES = 1024 * 1024
MAX_DOCKERFILE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class TaskEnvironment:
    """The sandbox that a task asks for. Sizes in MB; None where the task leaves the choice to the environment."""

    docker_image: str | None
    has_dockerfile: bool
    has_compose: bool
    os: str
    """``linux`` or ``windows``."""
    cpus: int | float | None
    memory_mb: int | None
    storage_mb: int | None
    gpus: int
    gpu_types: tuple[str, ...]
    needs_tpu: bool
    network_mode: str
    """``public``, ``no-network`` or ``allowlist``."""
    allowed_hosts: tuple[str, ...]
    build_timeout_sec: float
    directory: str
    """Where its files are, below the task."""
    dockerfile: str | None
    """The text; None when there is none, or it is longer than ``MAX_DOCKERFILE_BYTES``."""
    phase_network_modes: tuple[str, ...]
    """What the agent and the verifier ask for while they run in it, where they say so."""


@dataclass(frozen=True, slots=True)
class TaskStep:
    """One entry of ``[[steps]]``; a timeout of None is the task's own."""

    name: str
    agent_timeout_sec: float | None
    verifier_timeout_sec: float | None


@dataclass(frozen=True, slots=True)
class TaskDefinition:
    """A task directory that the engine can run."""

    directory: Path
    """Resolved."""
    name: str
    """Made from the directory's name: letters, digits, ".", "_", "-", at most 255 of them; the stem of task ids."""
    declared_name: str | None
    """``organisation/name`` of ``[task]``."""
    description: str
    keywords: tuple[str, ...]
    environment: TaskEnvironment
    verifier_environments: tuple[TaskEnvironment, ...]
    """Those of verifiers that run in a sandbox of their own."""
    steps: tuple[TaskStep, ...]
    agent_network_modes: tuple[str, ...]
    """Of each step while the agent is at work, of the one phase without steps; as in ``TaskEnvironment``."""
    agent_timeout_sec: float | None
    """None: the task sets no limit."""
    verifier_timeout_sec: float
    has_solution: bool
    variables: tuple[Variable, ...]
    timeouts: tuple[Timeout, ...]
    """As they are set: Harbor accepts ones that no trial could be run with (see ``check_timeouts``)."""


def task_name(raw: str) -> str:
    """``raw`` made safe as the stem of an id, a path component and a URL segment.

    Raises ``InvalidInput`` when nothing of it can be kept.
    """
    ascii_only = unicodedata.normalize("NFKD", raw).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", ascii_only).strip("-._")[:MAX_NAME_LENGTH].rstrip("-._")
    if not name:
        raise InvalidInput(
            f'"{raw}" holds no character that a task name can keep.',
            fix="Use letters, digits, dots, dashes, underscores.",
        )
    return name


def load_task(task_dir: Path, *, disable_verification: bool = False) -> TaskDefinition:
    """Read and check the task in ``task_dir``; ``disable_verification`` does without the test scripts.

    Raises ``InvalidTask`` naming the file, where and why it is refused, and the fix.
    """
    root = task_dir.resolve()
    document = _read_document(root)
    try:
        config = check_config(document)
    except FieldError as error:
        raise InvalidTask(f"{root / CONFIG_FILE}: {error.key} {error.reason}.", fix="Correct that key.") from None
    check_structure(root, config, disable_verification=disable_verification)
    return _definition(root, config)


def sandboxes(task: TaskDefinition) -> dict[str, object]:
    """What is kept of the sandboxes that a task asks for: ``environment`` and ``verifier_environments``."""
    return {
        "environment": asdict(task.environment),
        "verifier_environments": [asdict(environment) for environment in task.verifier_environments],
    }


def _read_document(root: Path) -> dict[str, Any]:
    path = root / CONFIG_FILE
    if not root.is_dir():
        raise InvalidTask(f"{root} is not a directory.", fix=f"Name the directory that holds {CONFIG_FILE}.")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_CONFIG_BYTES + 1)
    except FileNotFoundError:
        raise InvalidTask(f"{CONFIG_FILE} is missing in {root}.", fix="Every task directory needs one.") from None
    except OSError as error:
        raise InvalidTask(f"{path} cannot be read: {error.strerror}.", fix="Make it a readable file.") from None
    if len(content) > MAX_CONFIG_BYTES:
        raise InvalidTask(f"{path} is larger than {MAX_CONFIG_BYTES} bytes.", fix="Move data into files of the task.")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidTask(f"{path} is not UTF-8 text (byte {error.start}).", fix="Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidTask(f"{path} is not valid TOML: {error}.", fix="Correct the syntax there.") from None
    except RecursionError:
        raise InvalidTask(f"{path} nests its values too deeply.", fix="Flatten it.") from None


def _definition(root: Path, config: dict[str, Any]) -> TaskDefinition:
    package = config.get("task", {})
    agent, verifier = config.get("agent", {}), config.get("verifier", {})
    steps = config.get("steps") or []
    return TaskDefinition(
        directory=root,
        name=task_name(root.name),
        declared_name=package.get("name"),
        description=package.get("description", ""),
        keywords=tuple(package.get("keywords", ())),
        environment=_environment(root, config.get("environment", {}), "environment", agent_networks(config)),
        verifier_environments=tuple(
            _environment(root, place.config, place.directory, place.phase_network_modes)
            for place in verifier_places(root, config)
        ),
        steps=tuple(
            TaskStep(
                name=step["name"],
                agent_timeout_sec=step.get("agent", {}).get("timeout_sec"),
                verifier_timeout_sec=step.get("verifier", {}).get("timeout_sec"),
            )
            for step in steps
        ),
        agent_network_modes=_agent_network_modes(config),
        agent_timeout_sec=agent.get("timeout_sec"),
        verifier_timeout_sec=verifier.get("timeout_sec", 600.0),
        has_solution=_has_solution(root, config),
        variables=variables(config),
        timeouts=timeouts(config),
    )


def _environment(
    root: Path, environment: dict[str, Any], directory: str, phase_network_modes: tuple[str, ...]
) -> TaskEnvironment:
    return TaskEnvironment(
        docker_image=environment.get("docker_image") or None,
        has_dockerfile=(root / directory / "Dockerfile").is_file(),
        has_compose=(root / directory / "docker-compose.yaml").is_file(),
        os=environment.get("os", "linux"),
        cpus=environment.get("cpus"),
        memory_mb=environment.get("memory_mb"),
        storage_mb=environment.get("storage_mb"),
        gpus=environment.get("gpus", 0),
        gpu_types=tuple(environment.get("gpu_types", ())),
        needs_tpu="tpu" in environment,
        network_mode=environment.get("network_mode", "public"),
        allowed_hosts=tuple(environment.get("allowed_hosts", ())),
        build_timeout_sec=environment.get("build_timeout_sec", 600.0),
        directory=directory,
        dockerfile=_dockerfile(root / directory / "Dockerfile"),
        phase_network_modes=phase_network_modes,
    )


def _dockerfile(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_DOCKERFILE_BYTES + 1)
    except OSError:
        return None
    return content.decode(errors="replace").replace("\0", "\ufffd") if len(content) <= MAX_DOCKERFILE_BYTES else None


def _agent_network_modes(config: dict[str, Any]) -> tuple[str, ...]:
    usual = config.get("agent", {}).get("network_mode") or config.get("environment", {}).get("network_mode", "public")
    steps = config.get("steps") or [{}]
    return tuple(step.get("agent", {}).get("network_mode") or usual for step in steps)


def _has_solution(root: Path, config: dict[str, Any]) -> bool:
    script = "solve.bat" if config.get("environment", {}).get("os") == "windows" else "solve.sh"
    places = [root / "steps" / step["name"] for step in config.get("steps") or []]
    return any((place / "solution" / script).is_file() for place in (root, *places))
