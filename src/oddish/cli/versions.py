"""What is said of the versions of a task: a trial counts for the one it ran."""

from collections.abc import Iterable

from oddish.cli.text import one_line, plural
from oddish.client.types import Submitted, Task, UploadedVersion


def change(version: UploadedVersion, submitted: Submitted) -> str | None:
    """That what was sent is another version than the server's was, if so."""
    before = version.get("previous_version")
    if before is None or before == version["version"]:
        return None
    others = submitted.get("other_version_trials", 0)
    apart = f" ({_of_others(others)} in this experiment, not counted)" if others else ""
    return f"Task {one_line(version['name'])} changed: version {before} -> {version['version']}{apart}"


def not_shown(tasks: Iterable[Task]) -> str | None:
    """That the tasks have trials of other versions than the one that is shown of each, if so."""
    count = sum(task.get("other_version_trials", 0) for task in tasks)
    verb = "is" if count == 1 else "are"
    return f"{_of_others(count)} {verb} not shown." if count else None


def _of_others(count: int) -> str:
    return f"{plural(count, 'trial')} of other versions"
