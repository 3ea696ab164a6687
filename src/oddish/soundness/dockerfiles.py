"""Asking a process of its own about Dockerfiles: who imports this does not load the sandbox."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from oddish.errors import Unavailable
from oddish.soundness.environment import Flaw

_PATIENCE = 60.0


def dockerfiles(root: Path) -> list[Path]:
    """Those of a task: of its environment and of verifiers with an image of their own."""
    return sorted(
        path
        for pattern in ("environment/Dockerfile", "tests/Dockerfile", "steps/*/tests/Dockerfile")
        for path in root.glob(pattern)
        if path.is_file()
    )


def flaws_of(tasks: Iterable[Path]) -> Mapping[Path, Sequence[Flaw]]:
    """What is wrong with the Dockerfiles of each task directory. Raises ``Unavailable``."""
    found = {task: dockerfiles(task) for task in tasks}
    paths = [str(path) for files in found.values() for path in files]
    answers = _ask(paths) if paths else {}
    return {
        task: [Flaw(path.relative_to(task).as_posix(), **flaw) for path in files for flaw in answers[str(path)]]
        for task, files in found.items()
    }


def _ask(paths: list[str]) -> dict[str, list[dict[str, Any]]]:
    command = [sys.executable, "-P", "-m", "oddish.doctor.dockerfiles"]
    try:
        ended = subprocess.run(
            command, input=json.dumps(paths), capture_output=True, text=True, check=True, timeout=_PATIENCE
        )
        answer: dict[str, list[dict[str, Any]]] = json.loads(ended.stdout)
    except (subprocess.SubprocessError, ValueError) as error:
        raise Unavailable(f"The Dockerfiles could not be looked at: {error}.", fix="Run the command again.") from error
    return answer
