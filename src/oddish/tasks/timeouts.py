"""The time limits of task.toml: which are set, and which no trial could be run with. Standard library only.

Harbor takes any number. One that is not positive ends its phase at the start, and some of them end in an error that
does not say so.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from oddish.errors import InvalidTask
from oddish.tasks.fields import member


@dataclass(frozen=True, slots=True)
class Timeout:
    key: str
    """Dotted: ``verifier.timeout_sec``, ``steps[0].agent.timeout_sec`` ..."""
    seconds: float


def is_time_limit(seconds: float) -> bool:
    return math.isfinite(seconds) and seconds > 0


def timeouts(config: dict[str, Any]) -> tuple[Timeout, ...]:
    """Every time limit that a checked configuration sets."""
    return tuple(_in_table({name: value for name, value in config.items() if name != "metadata"}, ""))


def check_timeouts(found: tuple[Timeout, ...]) -> None:
    """Raise ``InvalidTask`` for the first that is not a positive, finite number of seconds."""
    for timeout in found:
        if not is_time_limit(timeout.seconds):
            raise InvalidTask(
                f"task.toml: {timeout.key} is {timeout.seconds:g}; a time limit is a number of seconds above 0.",
                fix="Set a positive number, or leave the key out.",
            )


def _in_table(table: dict[str, Any], key: str) -> Iterator[Timeout]:
    for name, value in table.items():
        place = member(key, name)
        if name.endswith("timeout_sec"):
            yield Timeout(place, value)
        elif isinstance(value, dict):
            yield from _in_table(value, place)
        elif isinstance(value, list):
            for index, element in enumerate(value):
                if isinstance(element, dict):
                    yield from _in_table(element, f"{place}[{index}]")
