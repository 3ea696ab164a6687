"""What a fleet has recorded of trials, and what is wrong with it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from oddish.errors import OddishError
from oddish.storage.manifest import read_manifest
from oddish.storage.store import ArtifactStore
from support.fleet import Fleet

AT_A_TIME = 16
COUNTERS = """
SELECT 'key ' || key, running FROM queue_keys UNION ALL SELECT 'lane ' || key || ' ' || lane, running FROM queue_lanes
UNION ALL SELECT 'cap ' || name, running FROM queue_caps
"""
TRIALS = "SELECT id, status, reward, attempts FROM trials WHERE id = ANY (%s)"
ATTEMPTS = """
SELECT trial_id, epoch, state, worker_id, coalesce(reasons ->> 0, ''), coalesce(artifact_prefix, '')
FROM attempts WHERE trial_id = ANY (%s) ORDER BY trial_id, epoch
"""


@dataclass(frozen=True)
class Attempt:
    trial: str
    epoch: int
    state: str
    worker_id: str
    reason: str
    prefix: str

    @property
    def label(self) -> str:
        return f"{self.trial.rpartition('-')[2]}#{self.epoch}"


def attempts(fleet: Fleet, trials: Sequence[str]) -> list[Attempt]:
    return [
        Attempt(str(trial), int(str(epoch)), *(str(value) for value in rest))
        for trial, epoch, *rest in fleet.rows(ATTEMPTS, list(trials))
    ]


def finished(fleet: Fleet, trials: Sequence[str]) -> int:
    counted = "SELECT count(*) FROM trials WHERE id = ANY (%s) AND finished_at IS NOT NULL"
    return int(str(fleet.rows(counted, list(trials))[0][0]))


def seconds(fleet: Fleet, trials: Sequence[str]) -> float:
    """From the submission of the first to the outcome of the last, by the database's clock."""
    spent = "SELECT extract(epoch FROM max(finished_at) - min(created_at)) FROM trials WHERE id = ANY (%s)"
    return float(str(fleet.rows(spent, list(trials))[0][0]))


def problems(fleet: Fleet, trials: Sequence[str], ended: Sequence[str]) -> list[str]:
    """Sentences. ``ended`` are the lives of workers that were ended: no others may have lost an attempt."""
    found = []
    rows = fleet.rows(TRIALS, list(trials))
    if len(rows) != len(trials):
        found.append(f"{len(trials)} trials were submitted, {len(rows)} are recorded")
    for trial, *rest in rows:
        if rest != ["success", 1.0, 1]:
            found.append(f"{trial} is {rest[0]} with reward {rest[1]} and {rest[2]} charged attempts")
    every = attempts(fleet, trials)
    outcomes = Counter(attempt.trial for attempt in every if attempt.state == "finished")
    found += [f"{trial} has {outcomes[trial]} recorded outcomes" for trial in trials if outcomes[trial] != 1]
    for attempt in every:
        if attempt.state not in ("finished", "lost"):
            found.append(f"attempt {attempt.label} is still {attempt.state}")
        if attempt.state == "lost" and attempt.worker_id not in ended:
            found.append(f"attempt {attempt.label} was lost by {attempt.worker_id}, which nobody ended")
    found += [f"the counter of {name} is {running}" for name, running in fleet.rows(COUNTERS) if running != 0]
    kept = [attempt for attempt in every if attempt.state == "finished"]
    return found + asyncio.run(_damaged(fleet.store(), kept))


async def _damaged(store: ArtifactStore, kept: Sequence[Attempt]) -> list[str]:
    """Attempts of which a file is missing or another than its manifest says."""
    room = asyncio.Semaphore(AT_A_TIME)

    async def check(attempt: Attempt) -> str | None:
        async with room:
            try:
                manifest = await read_manifest(store, attempt.prefix)
                for file in manifest.files:
                    content = await store.get(f"{attempt.prefix}/{file.path}", max_bytes=file.size)
                    if sha256(content).hexdigest() != file.sha256:
                        return f"attempt {attempt.label}: {file.path} is not what its manifest says"
            except OddishError as error:
                return f"attempt {attempt.label}: {error}"
        return None

    return [damage for damage in await asyncio.gather(*map(check, kept)) if damage is not None]
