"""Finding tasks below a path that a user names. Standard library only."""

from pathlib import Path

from oddish.errors import InvalidInput, NotFound
from oddish.tasks.structure import CONFIG_FILE


def is_task(path: Path) -> bool:
    """Whether ``path`` is meant to be a task: a directory with a task.toml, correct or not."""
    return (path / CONFIG_FILE).is_file()


def discover(path: Path) -> list[Path]:
    """The task directories that ``path`` stands for: itself, or the children of a dataset directory, sorted by name.

    A broken task is listed too, so that loading it says what is wrong instead of leaving it out. Raises ``NotFound``
    for a missing path and ``InvalidInput`` for a file or a directory without tasks.
    """
    if not path.exists():
        raise NotFound(f"{path} does not exist.", fix="Name a task directory or a directory of tasks.")
    if not path.is_dir():
        raise InvalidInput(f"{path} is a file.", fix="Name a task directory or a directory of tasks.")
    if is_task(path):
        return [path]
    tasks = sorted(child for child in path.iterdir() if child.is_dir() and is_task(child))
    if not tasks:
        raise InvalidInput(
            f"{path} holds no task: neither it nor a directory in it has a {CONFIG_FILE}.",
            fix="Name a task directory or a directory of tasks.",
        )
    return tasks
