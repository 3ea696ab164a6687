"""Identifiers: how they are made."""

import secrets


def task_id(name: str) -> str:
    return f"{name}-{secrets.token_hex(4)}"


def version_id(task: str, version: int) -> str:
    return f"{task}-v{version}"


def trial_id(task: str, index: int) -> str:
    return f"{task}-{index}"


def experiment_id() -> str:
    return secrets.token_hex(4)


def row_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(8)}"
