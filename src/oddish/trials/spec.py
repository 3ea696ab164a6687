"""What a worker must know to run a trial."""

import json
from dataclasses import dataclass, field

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import secrets, task_versions, tasks, trials
from oddish.errors import NotFound
from oddish.keyring import Keyring


@dataclass(frozen=True)
class TrialSpec:
    """One trial, ready to run. ``env`` holds secrets and never leaves memory."""

    trial_id: str
    task_name: str
    content_hash: str
    archive_key: str
    agent: str
    model: str | None
    agent_kwargs: dict[str, object]
    environment: str
    harbor: dict[str, object]
    env: dict[str, str] = field(repr=False)
    secret_names: frozenset[str] = frozenset()


async def load_spec(connection: AsyncConnection, trial_id: str, keyring: Keyring) -> TrialSpec:
    """The spec of ``trial_id``; its secret-named variables are decrypted.

    Raises ``NotFound`` for an unknown trial or one whose secrets have been deleted, ``KeyringError`` for secrets of
    another key.
    """
    row = (
        await connection.execute(
            select(
                trials.c.agent,
                trials.c.model,
                trials.c.environment,
                trials.c.agent_config,
                trials.c.harbor_config,
                tasks.c.name.label("task_name"),
                task_versions.c.content_hash,
                task_versions.c.archive_key,
                secrets.c.ciphertext,
            )
            .join(task_versions, task_versions.c.id == trials.c.task_version_id)
            .join(tasks, tasks.c.id == trials.c.task_id)
            .outerjoin(secrets, secrets.c.id == trials.c.secret_id)
            .where(trials.c.id == trial_id)
        )
    ).one_or_none()
    if row is None:
        raise NotFound(f"Trial {trial_id!r} does not exist.")
    plain: dict[str, str | None] = row.agent_config.get("env") or {}
    hidden: dict[str, str] = json.loads(keyring.decrypt(row.ciphertext)) if row.ciphertext else {}
    missing = sorted(name for name, value in plain.items() if value is None and name not in hidden)
    if missing:
        raise NotFound(
            f"The secret values of {', '.join(missing)} for trial {trial_id!r} have been deleted.",
            fix="Submit the trial again with them.",
        )
    return TrialSpec(
        trial_id=trial_id,
        task_name=row.task_name,
        content_hash=row.content_hash,
        archive_key=row.archive_key,
        agent=row.agent,
        model=row.model,
        agent_kwargs=row.agent_config.get("kwargs") or {},
        environment=row.environment,
        harbor=row.harbor_config,
        env={name: value for name, value in plain.items() if value is not None} | hidden,
        secret_names=frozenset(hidden),
    )
