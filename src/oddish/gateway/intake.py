"""What a worker does with a new job: fetch its archive, make a task version of it, and submit the trials."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish import correlation
from oddish.db.deadlock import outlast_deadlocks
from oddish.db.tables import gateway_jobs, task_versions, users
from oddish.errors import InvalidTask, OddishError
from oddish.experiments.registry import create_for_job
from oddish.gateway.fetching import Fetcher
from oddish.gateway.jobs import GatewayJob, read, whole_request
from oddish.gateway.plans import archive, fixture, logins, plans
from oddish.gateway.wording import in_words_of_requests
from oddish.gateway.workspace import keep_workspace
from oddish.identity.principal import Principal, Scope
from oddish.keyring import Keyring
from oddish.queue.claim import Claim
from oddish.queue.finish import fence, finish, retry
from oddish.queue.keys import Limits
from oddish.storage.store import ArtifactStore
from oddish.tasks import uploads
from oddish.tasks.archive import ArchiveLimits
from oddish.tasks.arrivals import drop_unneeded
from oddish.tasks.package import PublishedFile, content_hash, publish_set, write_archive
from oddish.tasks.selection import GITIGNORE, HARBORIGNORE
from oddish.tasks.structure import CONFIG_FILE, INSTRUCTION_FILE
from oddish.tasks.ziparchive import unpack_zip
from oddish.trials.commission import Commission
from oddish.trials.ground import Ground
from oddish.trials.policy import Policy
from oddish.trials.submission import Prepared, Submission, prepare, submit

UPLOAD_SECONDS = 3600
"""How long an archive waits in the store to become a version, before upkeep may take it for abandoned."""
RETRY_SECONDS = (2.0, 10.0)
"""Before the second and the third time that an archive is fetched."""


LISTED = 10
"""Entries that are named of an archive without a task."""


NEEDED = (INSTRUCTION_FILE, "environment/Dockerfile", "solution/solve.sh", "tests/test.sh")
"""What a task, or a step of one, consists of, as far as it has it."""


class UnusableArchive(InvalidTask):
    """What was fetched is no sound zip, or holds what is not unpacked."""

    code = "archive_not_usable"


class LeftOut(InvalidTask):
    """An archive whose own .gitignore leaves out what its task consists of."""

    code = "archive_ignores_files"


class NoTask(InvalidTask):
    """An archive with no task in it, or with several."""

    code = "archive_without_task"


@dataclass(frozen=True)
class Version:
    """Of the job's task."""

    id: str
    task_id: str
    content_hash: str


@dataclass(frozen=True)
class Intake:
    """Shared by all jobs that a worker takes in."""

    database: AsyncEngine
    store: ArtifactStore
    keyring: Keyring
    policy: Policy
    limits: Limits
    fetcher: Fetcher
    archive_limits: ArchiveLimits
    patience_seconds: float
    """For the first worker to say what it can run."""

    async def take(self, claim: Claim, scratch: Path) -> None:
        """Bring the job to its trials, and end the claim; cancelled jobs are left where they are.

        ``scratch`` is an empty directory. May be repeated: all that is done before the last transaction is done once.
        Raises ``StaleClaim`` when the execution no longer owns its job, and what the archive or the trials are
        refused for.
        """
        async with self._reads.connect() as connection:
            job = await read(connection, claim.subject_id)
            principal = await _principal(connection, job)
            request = await whole_request(connection, self.keyring, job)
        correlation.CURRENT.set(job.correlation_id)
        workspace_key = None
        if job.task_version_id is not None:
            version = await self._version(job.task_version_id)
        else:
            task = await self._unpacked(request, scratch)
            version = await self._publish(principal, job.task_slug, task, scratch)
            if job.kind == "verify":
                workspace_key = await self._workspace(job, request, task, scratch)
        prepared = await self._prepared(principal, job, request, version)

        async def conclude() -> None:
            async with self.database.begin() as connection:
                if (cancelled := await fence(connection, claim)) is not None:
                    await finish(connection, claim, "cancelled", error=cancelled)
                    return
                experiment = await create_for_job(connection, principal, f"{job.task_slug}-{job.id}")
                with in_words_of_requests():
                    for one in prepared:
                        await submit(connection, self.keyring, one.into(experiment.id))
                await connection.execute(
                    update(gateway_jobs)
                    .where(gateway_jobs.c.id == job.id)
                    .values(experiment_id=experiment.id, task_version_id=version.id, workspace_key=workspace_key)
                )
                await finish(connection, claim, "done")

        await outlast_deadlocks(conclude)

    @property
    def _reads(self) -> AsyncEngine:
        return self.database.execution_options(isolation_level="AUTOCOMMIT")

    async def _version(self, version_id: str) -> Version:
        columns = (task_versions.c.id, task_versions.c.task_id, task_versions.c.content_hash)
        async with self._reads.connect() as connection:
            row = (await connection.execute(select(*columns).where(task_versions.c.id == version_id))).one()
        return Version(*row)

    async def _unpacked(self, request: Mapping[str, Any], scratch: Path) -> Path:
        """The directory of the task."""
        fetched, directory = scratch / "task.zip", scratch / "fetched"
        await self.fetcher.fetch(archive(request), fetched)
        try:
            await asyncio.to_thread(unpack_zip, fetched, directory, self.archive_limits)
        except InvalidTask as error:
            raise UnusableArchive(error.message, fix=error.fix) from error
        return await asyncio.to_thread(unwrapped, directory)

    async def _workspace(self, job: GatewayJob, request: Mapping[str, Any], task: Path, scratch: Path) -> str:
        address, fetched = fixture(request), None
        if address is not None:
            fetched = scratch / "fixture.zip"
            await self.fetcher.fetch(address, fetched)
        (own := scratch / "workspace").mkdir()
        owner = f"{job.org_id}/{job.id}"
        return await keep_workspace(self.store, owner, task, fetched, own, self.archive_limits)

    async def _publish(self, principal: Principal, slug: str, task: Path, scratch: Path) -> Version:
        """The version with this content, made unless there is one; as by an upload of it."""
        files = await asyncio.to_thread(publish_set, task)
        await asyncio.to_thread(refuse_left_out, task, files)
        wanted = uploads.UploadRequest(name=slug, client_hash=await asyncio.to_thread(content_hash, files))
        async with self.database.begin() as connection:
            reservation = await uploads.reserve(connection, principal, wanted, expires_in=UPLOAD_SECONDS)
        if reservation.object_key is None:
            version_id = f"{reservation.task_id}-v{reservation.version}"
            return Version(version_id, reservation.task_id, reservation.content_hash)
        packed = scratch / "task.tar.gz"
        with packed.open("xb") as file:
            await asyncio.to_thread(write_archive, files, file)
        await self.store.put_file(reservation.object_key, packed)
        await drop_unneeded(self.database, self.store, reservation.object_key)
        delivery = await uploads.receive(
            self._reads,
            self.store,
            self.archive_limits,
            principal,
            task_id=reservation.task_id,
            client_hash=wanted.client_hash,
        )
        async with self.database.begin() as connection:
            registered, redundant = await uploads.register(connection, principal, delivery)
        for object_key in redundant:
            await self.store.delete(object_key)
        return Version(registered.version_id, registered.task_id, registered.content_hash)

    async def _prepared(
        self, principal: Principal, job: GatewayJob, request: Mapping[str, Any], version: Version
    ) -> list[Prepared]:
        ground = Ground(self._reads, self.database, self.limits, patience_seconds=self.patience_seconds)
        submissions = [
            Submission(
                task_id=version.task_id,
                configs=[plan.config],
                max_attempts=1,
                content_hash=version.content_hash,
                harbor=plan.harbor,
                logins=logins(request),
                commission=Commission(job.id, plan.agent, plan.max_running, is_probe=job.kind == "verify"),
            )
            for plan in plans(job.kind, request)
        ]
        with in_words_of_requests():
            return [await prepare(self._reads, self.policy, principal, one, ground) for one in submissions]


async def refuse(connection: AsyncConnection, claim: Claim, error: OddishError) -> None:
    """End the job with the error, or fetch its archive again where that may help, in the caller's transaction.

    Raises ``StaleClaim``.
    """
    if (cancelled := await fence(connection, claim)) is not None:
        await finish(connection, claim, "cancelled", error=cancelled)
    elif error.status >= 500 and claim.attempt < claim.max_attempts:
        delay = RETRY_SECONDS[min(claim.attempt, len(RETRY_SECONDS)) - 1]
        await retry(connection, claim, delay_seconds=delay, error=str(error), cause="failed")
    else:
        await connection.execute(
            update(gateway_jobs)
            .where(gateway_jobs.c.id == claim.subject_id)
            .values(error={"code": error.code, "message": str(error)})
        )
        await finish(connection, claim, "failed", error=str(error))


def unwrapped(directory: Path) -> Path:
    """The task in what an archive held: all of it, or the one folder that it is wrapped in. Raises ``NoTask``."""
    if (directory / CONFIG_FILE).exists():
        return directory
    inside = sorted(entry for entry in directory.iterdir() if entry.name != "__MACOSX")
    if len(inside) == 1 and inside[0].is_dir() and not inside[0].is_symlink() and (inside[0] / CONFIG_FILE).exists():
        return inside[0]
    names = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in inside]
    listed = f"holds {', '.join(names[:LISTED])}{', ...' if len(names) > LISTED else ''}" if names else "is empty"
    raise NoTask(
        f"The archive has no {CONFIG_FILE} at its top or in the one folder there: it {listed}.",
        fix="Zip the directory of one task.",
    )


def refuse_left_out(task: Path, files: Sequence[PublishedFile]) -> None:
    """Raise ``LeftOut`` where the rules of the task keep back what it consists of.

    They hold here as they do for an upload, so that one task has one content, wherever it comes from.
    """
    kept = {file.path for file in files}
    steps = [f"steps/{step.name}/" for step in sorted((task / "steps").glob("*")) if step.is_dir()]
    needed = [f"{place}{name}" for place in ("", *steps) for name in NEEDED]
    if left_out := [name for name in needed if (task / name).is_file() and name not in kept]:
        raise LeftOut(
            f"The archive holds {', '.join(left_out[:LISTED])}, and its own {GITIGNORE} or {HARBORIGNORE} leaves that "
            "out of the task.",
            fix=f"Take the pattern out of {GITIGNORE}, or leave that file out of the zip.",
        )


async def _principal(connection: AsyncConnection, job: GatewayJob) -> Principal:
    """Whoever asked for the job."""
    row = (await connection.execute(select(users.c.name, users.c.role).where(users.c.id == job.created_by))).one()
    return Principal("", job.org_id, job.created_by, row.name, row.role, Scope.TASKS)
