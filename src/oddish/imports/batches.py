"""Many trials in one archive: announced, sent, then each judged and kept by itself.

Member ``<n>/...`` of the archive is the directory of the n-th trial. Nothing of a trial is there before its files are
stored; one that cannot be read leaves the others.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish import ids
from oddish.errors import Conflict, OddishError
from oddish.experiments.registry import Experiment, find_experiment, get_or_create
from oddish.identity.principal import Principal
from oddish.imports.archives import batch_key, unpacked
from oddish.imports.errors import UnreadableTrial
from oddish.imports.reading import Recorded, read_recorded
from oddish.imports.rows import NewTrial, Place, add_trials, check_tasks, known_trials, reserve, time_of
from oddish.storage.manifest import TreeLimits, upload_tree
from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits


@dataclass(frozen=True)
class Item:
    """One trial of a batch, as its sender speaks of it."""

    task_id: str
    external_id: str
    version: int | None = None
    """Of the task; the current one by default."""
    job_name: str | None = None


@dataclass(frozen=True)
class Begun:
    import_id: str
    experiment: Experiment
    known: Mapping[str, tuple[str, str]]
    """By external id: trial and task of those that need not be sent."""
    object_key: str


@dataclass(frozen=True)
class Ended:
    """What one trial came to: new, there before, or refused with the reason."""

    item: Item
    trial_id: str | None = None
    task_id: str | None = None
    is_new: bool = False
    files: int = 0
    trial_status: str | None = None
    reward: float | None = None
    refusal: OddishError | None = None


async def begin(
    connection: AsyncConnection,
    principal: Principal,
    experiment: str | None,
    items: Sequence[Item],
    *,
    user_name: str | None,
) -> Begun:
    """Get or make the experiment, and say which of the trials it has. Raises ``NotFound`` for an unknown task."""
    await check_tasks(connection, principal, _versions(items))
    found = await get_or_create(connection, principal, experiment, user_name=user_name)
    known = await known_trials(connection, found.id, [item.external_id for item in items])
    import_id = ids.row_id("imp")
    return Begun(import_id, found, known, batch_key(principal, import_id))


@dataclass(frozen=True)
class Batch:
    """One announced batch, about to be completed."""

    principal: Principal
    import_id: str
    experiment_id: str
    items: Sequence[Item]

    @property
    def object_key(self) -> str:
        return batch_key(self.principal, self.import_id)


class Completion:
    """Reads, judges and stores what a batch holds that the experiment has not yet; ``record`` makes the rows."""

    def __init__(
        self, batch: Batch, engine: AsyncEngine, store: ArtifactStore, archive: ArchiveLimits, tree: TreeLimits
    ) -> None:
        self._batch = batch
        self._engine = engine
        self._store = store
        self._archive = archive
        self._tree = tree
        self._new: list[tuple[Item, NewTrial]] = []
        self._places: list[Place] = []
        """Where files may be that no row leads to yet."""
        self._refused: dict[str, OddishError] = {}

    async def prepare(self) -> None:
        """Everything that takes time. Raises ``NotFound`` and what the archive is refused for."""
        batch = self._batch
        async with self._engine.connect() as connection:
            await find_experiment(connection, batch.principal, batch.experiment_id)
            await check_tasks(connection, batch.principal, _versions(batch.items))
            known = await known_trials(connection, batch.experiment_id, [item.external_id for item in batch.items])
        wanted = {index: item for index, item in enumerate(batch.items) if item.external_id not in known}
        if not wanted:
            return
        async with unpacked(self._store, batch.object_key, self._archive) as root:
            read: dict[int, Recorded] = {}
            for index, item in wanted.items():
                try:
                    read[index] = await asyncio.to_thread(_read, root / str(index), item)
                except UnreadableTrial as error:
                    self._refused[item.external_id] = error
            places = await self._reserve({index: wanted[index] for index in read})
            for index, recorded in read.items():
                await self._keep(root / str(index), wanted[index], recorded, places[index])

    async def record(self, connection: AsyncConnection) -> tuple[Experiment, list[Ended]]:
        """Make the rows, in the caller's transaction; what became of every trial, in the order of the batch."""
        batch = self._batch
        experiment = await find_experiment(connection, batch.principal, batch.experiment_id)
        await check_tasks(connection, batch.principal, _versions(batch.items), held=True)
        added = await add_trials(connection, batch.principal, experiment, [trial for _, trial in self._new])
        known = await known_trials(connection, experiment.id, [item.external_id for item in batch.items])
        new = {item.external_id: trial for item, trial in self._new if trial.place.trial_id in added}
        return experiment, [self._ended(item, known, new.get(item.external_id)) for item in batch.items]

    async def tidy(self, ended: Sequence[Ended]) -> None:
        """Remove the archive, and the files of trials that others were faster with, once ``ended`` is committed."""
        await self._forget(keep={entry.trial_id for entry in ended if entry.is_new})
        await self._store.delete(self._batch.object_key)

    async def discard(self, error: BaseException) -> None:
        """Remove what was stored before ``error`` ended it, and an archive that is refused for good."""
        await self._forget(keep=set())
        if isinstance(error, OddishError) and error.status < 500:
            await self._store.delete(self._batch.object_key)

    async def _forget(self, keep: Collection[str | None]) -> None:
        for place in self._places:
            if place.trial_id not in keep:
                await self._store.delete_prefix(place.prefix)

    def _ended(self, item: Item, known: Mapping[str, tuple[str, str]], new: NewTrial | None) -> Ended:
        if item.external_id not in known:
            return Ended(item, refusal=self._refused.get(item.external_id) or _gone(item))
        trial_id, task_id = known[item.external_id]
        if new is None:
            return Ended(item, trial_id, task_id)
        return Ended(
            item,
            trial_id,
            task_id,
            is_new=True,
            files=new.report.artifact_files,
            trial_status="success" if new.outcome.usable else "failed",
            reward=new.outcome.reward,
        )

    async def _reserve(self, readable: Mapping[int, Item]) -> dict[int, Place]:
        of_task: dict[str, list[int]] = defaultdict(list)
        for index, item in readable.items():
            of_task[item.task_id].append(index)
        places: dict[int, Place] = {}
        for task_id, indexes in sorted(of_task.items()):
            async with self._engine.begin() as connection:
                versions = [readable[index].version for index in indexes]
                places |= zip(indexes, await reserve(connection, self._batch.principal, task_id, versions), strict=True)
        return places

    async def _keep(self, directory: Path, item: Item, recorded: Recorded, place: Place) -> None:
        self._places.append(place)
        manifest = await upload_tree(self._store, directory, place.prefix, self._tree)
        provenance = {
            "job_name": item.job_name,
            "trial_name": recorded.trial_name,
            "external_trial_id": item.external_id,
        }
        try:
            report = recorded.report(manifest, place.prefix, provenance)
        except UnreadableTrial as error:
            self._refused[item.external_id] = error
            return
        trial = NewTrial(
            place=place,
            external_id=item.external_id,
            agent=recorded.agent,
            model=recorded.model,
            environment=recorded.environment,
            agent_config=recorded.agent_config,
            harbor_config=recorded.harbor_config,
            started_at=time_of(recorded.started_at),
            finished_at=time_of(recorded.finished_at),
            outcome=recorded.outcome,
            report=report,
        )
        self._new.append((item, trial))


def _read(directory: Path, item: Item) -> Recorded:
    if not directory.is_dir() or directory.is_symlink():
        raise UnreadableTrial("The archive holds no directory for it.", fix="Pack the trial directories again.")
    recorded = read_recorded(directory)
    if recorded.external_id is not None and recorded.external_id != item.external_id:
        raise UnreadableTrial(
            f"Its result.json is that of trial {recorded.external_id!r}, not of {item.external_id!r}.",
            fix="Pack the trial directories again.",
        )
    return recorded


def _gone(item: Item) -> Conflict:
    return Conflict(f"Trial {item.external_id!r} was deleted while it was imported.", fix="Import it again.")


def _versions(items: Sequence[Item]) -> dict[str, set[int]]:
    versions: dict[str, set[int]] = defaultdict(set)
    for item in items:
        versions[item.task_id] |= {item.version} if item.version is not None else set()
    return versions
