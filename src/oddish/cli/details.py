"""What is known of a trial beyond the trial itself: its experiment's name, its files and the ends of its logs."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from oddish.client import Client
from oddish.client.errors import ApiError
from oddish.client.types import Trial

LINES = 30
WIDTH = 300
_SECTION = re.compile(r"^=== ([^\n]+) ===$", re.MULTILINE)


@dataclass(frozen=True)
class Details:
    """Each is None where the server does not tell."""

    experiment: str | None = None
    files: int | None = None
    logs: str | None = None


def read_details(client: Client, trial: Trial, *, logs: bool) -> Details:
    trial_id = trial["id"]
    return Details(
        experiment=_if_told(lambda: client.experiment(trial["experiment_id"])["name"]),
        files=_if_told(lambda: len(client.evidence.files(trial_id)["files"])),
        logs=_if_told(lambda: client.evidence.logs(trial_id)) if logs else None,
    )


def _if_told[T](read: Callable[[], T]) -> T | None:
    """None also for a refusal of another kind: these are extras, and what they belong to has been read."""
    try:
        return read()
    except ApiError:
        return None


def log_end(logs: str, writer: str) -> list[str]:
    """The last lines of the files under a directory named ``writer``, each file under its path."""
    _, *parts = _SECTION.split(logs)
    shown: list[str] = []
    for path, text in reversed(list(zip(parts[::2], parts[1::2], strict=True))):
        lines = text.strip().splitlines()
        left = LINES - len(shown)
        if writer in path.split("/")[:-1] and lines and left > 0:
            shown = [f"{path}:", *(f"  {_cut(line)}" for line in lines[-left:]), *shown]
    return shown


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
