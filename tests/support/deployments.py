"""A database and a store with what a submission would have put there, for tests of the worker alone."""

import asyncio
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish import ids
from oddish.db.tables import attempts, experiments, task_versions, tasks, trials, workers
from oddish.keyring import Keyring
from oddish.queue.cancel import cancel
from oddish.queue.claim import Claim, claim
from oddish.queue.enqueue import Lane, NewJob, enqueue, prepare_lanes
from oddish.queue.keys import Limits, queue_key
from oddish.queue.schedule import promote
from oddish.registries import RegistryLogin
from oddish.settings import Settings
from oddish.storage.store import ArtifactStore
from oddish.tasks.package import content_hash, publish_set, write_archive
from oddish.trials.confidential import Confidential
from oddish.trials.waiting import queue_info
from oddish.worker.service import WorkerService
from support.waiting import until

ORG, USER, EXPERIMENT = "org", "user", "e0000000"
LIMITS = Limits(default=8, baseline=256, overrides={})
TERMINAL = frozenset({"success", "failed", "skipped"})


@dataclass
class Deployment:
    settings: Settings
    database: AsyncEngine
    store: ArtifactStore
    keyring: Keyring
    engine_name: str
    environment: str = "local"
    """Of trials that name none."""

    async def prepare(self) -> None:
        async with self.database.begin() as connection:
            await connection.execute(text("INSERT INTO organisations (id, name) VALUES (:id, :id)"), {"id": ORG})
            await connection.execute(
                text("INSERT INTO users (id, org_id, name, role) VALUES (:id, :org, :id, 'admin')"),
                {"id": USER, "org": ORG},
            )
            await connection.execute(
                insert(experiments).values(id=EXPERIMENT, org_id=ORG, name="tests", created_by=USER)
            )

    async def task(self, directory: Path) -> str:
        """Store the task at ``directory`` as version 1 of a new task; its id."""
        files = publish_set(directory)
        buffer = io.BytesIO()
        write_archive(files, buffer)
        task_id = ids.task_id(directory.name)
        key = f"tasks/{task_id}/1.tar.gz"
        await self.store.put(key, buffer.getvalue())
        async with self.database.begin() as connection:
            await connection.execute(
                insert(tasks).values(
                    id=task_id, org_id=ORG, name=directory.name, created_by=USER, current_version=1, last_version=1
                )
            )
            await connection.execute(
                insert(task_versions).values(
                    id=ids.version_id(task_id, 1),
                    org_id=ORG,
                    task_id=task_id,
                    version=1,
                    content_hash=content_hash(files),
                    client_hash="",
                    archive_key=key,
                    archive_bytes=len(buffer.getvalue()),
                    definition={},
                    created_by=USER,
                )
            )
        return task_id

    async def submit(
        self,
        task_id: str,
        *,
        index: int = 0,
        agent: str = "oracle",
        model: str | None = None,
        kwargs: Mapping[str, Any] | None = None,
        environment: str | None = None,
        max_attempts: int = 3,
        harbor: dict[str, object] | None = None,
        secret_env: dict[str, str] | None = None,
        logins: Sequence[RegistryLogin] = (),
        group: str | None = None,
    ) -> str:
        """Queue one trial; its id."""
        key = queue_key(agent, model)
        environment = environment or self.environment
        await prepare_lanes(self.database, [Lane(key.key, USER, key.provider, ORG)], LIMITS)
        trial_id = ids.trial_id(task_id, index)
        async with self.database.begin() as connection:
            secret_id = None
            kept = Confidential(env=secret_env or {}, logins=logins)
            if kept:
                secret_id = ids.row_id("secret")
                await connection.execute(
                    text(
                        "INSERT INTO secrets (id, org_id, ciphertext, expires_at)"
                        " VALUES (:id, :org, :ciphertext, now() + interval '1 day')"
                    ),
                    {"id": secret_id, "org": ORG, "ciphertext": self.keyring.encrypt(kept.plaintext())},
                )
            await connection.execute(
                insert(trials).values(
                    id=trial_id,
                    org_id=ORG,
                    task_id=task_id,
                    task_version_id=ids.version_id(task_id, 1),
                    task_version=1,
                    experiment_id=EXPERIMENT,
                    trial_index=index,
                    name=trial_id,
                    agent=agent,
                    model=model,
                    provider=key.provider,
                    queue_key=key.key,
                    environment=environment,
                    agent_config={"env": dict.fromkeys(secret_env or {}), "kwargs": dict(kwargs or {})},
                    harbor_config=harbor or {},
                    unit_hash=b"",
                    secret_id=secret_id,
                    created_by=USER,
                    max_attempts=max_attempts,
                )
            )
            pool = f"{environment}@{self.engine_name}"
            job = NewJob(ORG, "trial", trial_id, pool, key.key, USER, 0, max_attempts, group_id=group)
            await enqueue(connection, [job])
        return trial_id

    async def claim(self, worker_id: str = "w", *, slots: int = 1) -> list[Claim]:
        """The next jobs of a worker, those that wait to be run again included."""
        async with self.database.begin() as connection:
            await connection.execute(text("UPDATE jobs SET run_at = now() WHERE state = 'scheduled'"))
            await promote(connection)
        held: list[Claim] = []
        pool = f"{self.environment}@{self.engine_name}"
        while len(held) < slots:
            async with self.database.begin() as connection:
                more = await claim(connection, worker_id=worker_id, pools=[pool], slots=1, memory_mb=4096)
            if not more:
                break
            held += more
        return held

    async def cancel(self, *trial_ids: str) -> None:
        async with self.database.begin() as connection:
            await cancel(connection, kind="trial", subject_ids=trial_ids)

    async def trial(self, trial_id: str) -> dict:
        async with self.database.connect() as connection:
            row = (await connection.execute(select(trials).where(trials.c.id == trial_id))).mappings().one()
            return dict(row)

    async def attempts(self, trial_id: str) -> list[dict]:
        async with self.database.connect() as connection:
            rows = await connection.execute(
                select(attempts).where(attempts.c.trial_id == trial_id).order_by(attempts.c.epoch)
            )
            return [dict(row) for row in rows.mappings()]

    async def until(self, condition: Callable[[dict], bool], *trial_ids: str, seconds: float = 60) -> list[dict]:
        """The trials once ``condition`` is true of each."""

        async def found() -> list[dict] | None:
            rows = [await self.trial(trial_id) for trial_id in trial_ids]
            return rows if all(map(condition, rows)) else None

        return await until(found, seconds) or []

    async def waits_for(self, trial_id: str, reason: str) -> bool:
        """Whether it waits for this reason."""
        async with self.database.connect() as connection:
            waiting = (await queue_info(connection, [trial_id])).get(trial_id)
        return waiting is not None and waiting.reason == reason

    async def registered(self, worker_id: str, *, seconds: float = 60) -> None:
        """Wait until the worker's lease has begun."""

        async def begun() -> object:
            async with self.database.connect() as connection:
                return await connection.scalar(select(workers.c.id).where(workers.c.id == worker_id))

        await until(begun, seconds)

    async def finished(self, *trial_ids: str, seconds: float = 60) -> list[dict]:
        return await self.until(lambda row: row["status"] in TERMINAL, *trial_ids, seconds=seconds)


class RunningWorker:
    """A worker of this process; stops in good order on leaving the context."""

    def __init__(self, settings: Settings) -> None:
        self.service = WorkerService(settings)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> WorkerService:
        self._task = asyncio.create_task(self.service.run())
        return self.service

    async def ended(self) -> None:
        """Wait until it has ended by itself."""
        assert self._task is not None
        await asyncio.wait_for(asyncio.shield(self._task), 60)

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self.service.stop()
        await asyncio.wait_for(self._task, 30)
