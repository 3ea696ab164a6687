"""Lenient reader of the reward files that a verifier leaves. No Harbor here.

Harbor takes ``reward.json`` if there is one, else ``reward.txt``, and records what it read in ``result.json``; that
record is what counts. These files are the original: what an audit compares it with.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from oddish.documents import Problem, finite_number, read_bytes

REWARD_LIMIT = 1024 * 1024


def reward_files(directory: Path, step: str | None = None) -> tuple[Mapping[str, float] | None, Problem | None]:
    """The rewards by name in a trial directory, of one ``step`` if it has steps, or why there are none.

    As in Harbor: UTF-8 only, the number in ``reward.txt`` is called ``reward``, truth values are numbers, and one value
    that is no finite number spoils them all. Unlike there, so does an integer that no float can hold. Never raises for
    what it finds there.
    """
    folder = f"steps/{step}/verifier" if step is not None else "verifier"
    content, problem = read_bytes(directory, f"{folder}/reward.json", REWARD_LIMIT)
    if problem is None:
        rewards = _rewards(content)
    elif problem == "missing":
        content, problem = read_bytes(directory, f"{folder}/reward.txt", REWARD_LIMIT)
        rewards = _number(content)
    if problem is not None:
        return None, problem
    return (rewards, None) if rewards is not None else (None, "malformed")


def _rewards(content: bytes) -> Mapping[str, float] | None:
    try:
        document = json.loads(content.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    numbers = {name: _finite(value) for name, value in document.items()}
    known = {name: number for name, number in numbers.items() if number is not None}
    return known if len(known) == len(numbers) else None


def _number(content: bytes) -> Mapping[str, float] | None:
    try:
        number = finite_number(float(content.decode()))
    except ValueError:
        return None
    return None if number is None else {"reward": number}


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, bool) else finite_number(value)
