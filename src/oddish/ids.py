"""Identifiers: how they are made and taken apart."""

import re
import secrets

TRIAL_ID = re.compile(r"(?P<task>.+)-(?P<index>\d+)")


def task_id(name: str) -> str:
    return f"{name}-{secrets.token_hex(4)}"


def version_id(task: str, version: int) -> str:
    return f"{task}-v{version}"


def trial_id(task: str, index: int) -> str:
    return f"{task}-{index}"


def experiment_id() -> str:
    return secrets.token_hex(4)


def api_key() -> str:
    return f"ok_{secrets.token_hex(16)}"


def row_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(8)}"


def split_trial_id(value: str) -> tuple[str, int] | None:
    """``(task id, index)`` of a trial id, or None when ``value`` cannot be one.

    A task whose name ends in digits looks the same, so callers ask for the task first.
    """
    match = TRIAL_ID.fullmatch(value)
    return (match["task"], int(match["index"])) if match else None
