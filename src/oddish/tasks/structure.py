"""The files that a task directory must and must not hold, given its checked configuration. Standard library only."""

import errno
import os
from pathlib import Path
from typing import Any

from oddish.errors import InvalidTask
from oddish.tasks.selection import InputFilter

CONFIG_FILE = "task.toml"
INSTRUCTION_FILE = "instruction.md"

_SCRIPTS = {"linux": "test.sh", "windows": "test.bat"}


def check_structure(root: Path, config: dict[str, Any], *, disable_verification: bool) -> None:
    """Raise ``InvalidTask`` unless ``root`` (resolved) holds what the engine needs for ``config``."""
    _check_environment(root, config)
    inputs = InputFilter(root)
    steps = config.get("steps") or []
    for step in steps:
        check_links(root, root / "steps" / step["name"], inputs)
    for directory in ("tests", "solution"):
        check_links(root, root / directory, inputs)
    if not steps:
        _check_instruction(root, INSTRUCTION_FILE)
    for step in steps:
        place = f"steps/{step['name']}"
        if not (root / place).is_dir():
            raise InvalidTask(
                f"{place}/ is missing: {CONFIG_FILE} declares the step.", fix="Create it, or remove the step."
            )
        check_links(root, root / place / INSTRUCTION_FILE)
        _check_instruction(root, f"{place}/{INSTRUCTION_FILE}")
    if not disable_verification:
        for candidate in steps or [None]:
            _check_tests(root, config, candidate, inputs)


def check_links(root: Path, path: Path, inputs: InputFilter | None = None) -> None:
    """Raise ``InvalidTask`` when ``path`` or anything below it, links followed, leaves the task or runs in a circle."""
    checked: set[Path] = set()

    def visit(candidate: Path, ancestors: frozenset[Path]) -> None:
        if inputs is not None and inputs.excludes(candidate):
            return
        shown = candidate.relative_to(root)
        resolved = followed(candidate, str(shown))
        if not resolved.is_relative_to(root):
            target = f" (to {os.readlink(candidate)})" if candidate.is_symlink() else ""  # noqa: PTH115 - verbatim
            raise InvalidTask(
                f"{shown} is a symbolic link out of the task{target}.", fix="Copy what it points to into the task."
            )
        if not candidate.is_dir():
            return
        if resolved in ancestors:
            raise InvalidTask(f"{shown} is a symbolic link to a directory that contains it.", fix="Remove the link.")
        if inputs is None and resolved in checked:
            return
        try:
            children = sorted(candidate.iterdir())
        except OSError as error:
            raise InvalidTask(f"{shown} cannot be read: {error.strerror}.", fix="Make it readable.") from None
        for child in children:
            visit(child, ancestors | {resolved})
        checked.add(resolved)

    visit(path, frozenset())


def followed(path: Path, name: str) -> Path:
    """Where ``path`` leads, existing or not. Raises ``InvalidTask`` calling it ``name`` when it leads to itself."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InvalidTask(f"{name} is a symbolic link that leads to itself.", fix="Remove the link.") from None
    return path.resolve()


def _check_environment(root: Path, config: dict[str, Any]) -> None:
    if not config.get("environment", {}).get("docker_image") and not (root / "environment").is_dir():
        raise InvalidTask(
            f"environment/ is missing and {CONFIG_FILE} names no image.",
            fix="Add environment/Dockerfile, or set docker_image under [environment].",
        )


def _check_instruction(root: Path, name: str) -> None:
    path = root / name
    if not path.exists():
        raise InvalidTask(f"{name} is missing.", fix="Write there what the agent has to do.")
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidTask(f"{name} is not UTF-8 text (byte {error.start}).", fix="Save it as UTF-8.") from None
    except OSError as error:
        raise InvalidTask(f"{name} cannot be read: {error.strerror}.", fix="Make it a readable file.") from None


def _check_tests(root: Path, config: dict[str, Any], step: dict[str, Any] | None, inputs: InputFilter) -> None:
    separate = is_separate(config, step)
    if separate:
        for environment, directory in verifier_candidates(config, step):
            check_links(root, root / directory, inputs)
            if environment is not None and environment.get("docker_image"):
                return
            if has_own_image(root / directory, environment):
                check_links(root, root / directory)
                return
        check_links(root, root / "environment")
    system = _verifier_os(config, step) if separate else config.get("environment", {}).get("os", "linux")
    script = _SCRIPTS[system]
    directories = ["tests"] if step is None else [f"steps/{step['name']}/tests", "tests"]
    found = next((root / place / script for place in directories if (root / place / script).exists()), None)
    if found is None:
        raise _missing_script(root, directories, script, system)
    if not found.resolve().is_relative_to(root):
        raise InvalidTask(f"{found.relative_to(root)} is a symbolic link out of the task.", fix="Copy the script.")
    if inputs.excludes(found):
        raise InvalidTask(
            f"{found.relative_to(root)} is excluded by .harborignore, but the verifier runs it.",
            fix="Take it out of the patterns.",
        )


def _missing_script(root: Path, directories: list[str], script: str, system: str) -> InvalidTask:
    expected = " or ".join(f"{place}/{script}" for place in directories)
    other_system = "windows" if system == "linux" else "linux"
    other = next((place for place in directories if (root / place / _SCRIPTS[other_system]).exists()), None)
    if other is not None:
        return InvalidTask(
            f"{expected} is missing: only {other}/{_SCRIPTS[other_system]} is there, which is for {other_system}.",
            fix=f'Add {expected}, or set os = "{other_system}" under [environment].',
        )
    return InvalidTask(f"{expected} is missing.", fix="The verifier runs it to write the reward.")


def _mode(verifier: dict[str, Any]) -> str | None:
    mode: str | None = verifier.get("environment_mode")
    return mode or ("separate" if "environment" in verifier else None)


def is_separate(config: dict[str, Any], step: dict[str, Any] | None) -> bool:
    own = _mode(step.get("verifier", {})) if step is not None else None
    return (own or _mode(config.get("verifier", {}))) == "separate"


def verifier_candidates(config: dict[str, Any], step: dict[str, Any] | None) -> list[tuple[dict[str, Any] | None, str]]:
    candidates: list[tuple[dict[str, Any] | None, str]] = []
    if step is not None:
        candidates.append((step.get("verifier", {}).get("environment"), f"steps/{step['name']}/tests"))
    candidates.append((config.get("verifier", {}).get("environment"), "tests"))
    return candidates


def has_own_image(directory: Path, environment: dict[str, Any] | None) -> bool:
    if environment is not None and environment.get("docker_image"):
        return True
    return any((directory / name).is_file() for name in ("Dockerfile", "docker-compose.yaml"))


def _verifier_os(config: dict[str, Any], step: dict[str, Any] | None) -> str:
    task_os: str = config.get("environment", {}).get("os", "linux")
    for environment, _ in verifier_candidates(config, step):
        if environment is not None:
            return str(environment.get("os", task_os))
    return task_os
