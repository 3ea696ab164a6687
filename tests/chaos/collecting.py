"""Collects the facts from the database and the store, by ways that no fault touches."""

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping, Sequence

from chaos import journal
from chaos.clients import Ledger
from chaos.facts import AttemptRow, Digest, Facts, Leftover, Stored, TrialRow
from chaos.workload import WORKS
from oddish.db.engine import connect
from oddish.queue.audit import audit
from oddish.storage.errors import ObjectNotFound, StorageUnavailable
from oddish.storage.keys import artifact_key
from oddish.storage.manifest import MANIFEST_NAME, read_manifest
from oddish.storage.store import ArtifactStore
from support.fleet import Fleet

TRIALS = """
SELECT t.id, e.name, t.status, t.harbor_stage, t.attempts, t.max_attempts, t.decided_by_epoch, t.reward,
  t.error_message, t.environment, t.superseded_by_trial_id
FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id LIKE %s ORDER BY t.id
"""
ATTEMPTS = """
SELECT trial_id, epoch, worker_id, state, status, artifact_prefix, artifact_files, artifact_bytes
FROM attempts WHERE trial_id LIKE %s ORDER BY trial_id, epoch
"""
OPEN_JOBS = """
SELECT subject_id, state FROM jobs
WHERE state IN ('held', 'ready', 'scheduled', 'running') AND subject_id LIKE %s ORDER BY id
"""
OWN_END = re.compile(r"/oddish/(worker|api)/__main__\.py")
ERROR = re.compile(r"[A-Za-z_][\w.]*(:|$)")
"""The last line of a traceback."""
LARGEST = 64 * 1024 * 1024


def collect(
    fleet: Fleet,
    ledger: Ledger,
    tag: str,
    names: Sequence[str],
    *,
    late: Sequence[str],
    leftovers: Sequence[Leftover],
) -> Facts:
    """About the trials whose ids begin with ``tag``, and the servers and workers ``names``."""
    trials = [TrialRow(*row) for row in fleet.rows(TRIALS, f"{tag}%")]  # type: ignore[arg-type]
    attempts = [AttemptRow(*row) for row in fleet.rows(ATTEMPTS, f"{tag}%")]  # type: ignore[arg-type]
    prefixes = [row.prefix for row in attempts if row.prefix is not None]
    return Facts(
        promises=ledger.promises(),
        expectations={name: work.expectation for name, work in WORKS.items()},
        cancels=tuple(ledger.cancels),
        trials=trials,
        attempts=attempts,
        changes=journal.read(fleet),
        late=late,
        open_jobs=[f"{subject} ({state})" for subject, state in fleet.rows(OPEN_JOBS, f"{tag}%")],
        drift=asyncio.run(_drift(fleet)),
        stored=asyncio.run(_read_back(fleet.store(), prefixes)),
        leftovers=leftovers,
        events=journal.events(fleet, tag),
        defects=[f"{name}: {defect}" for name in names for defect in defects(fleet.log(name).read_text())],
    )


def defects(log: str) -> list[str]:
    """Of one server or worker: events with a traceback, and tracebacks of its own end."""
    found = []
    ending = False
    for line in log.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            ending = ending or bool(OWN_END.search(line))
            if ending and ERROR.match(line):
                found.append(f"it ended with {line}")
                ending = False
            continue
        if isinstance(event, dict) and "exception" in event:
            found.append(f"{event.get('event')}: {str(event['exception']).strip().splitlines()[-1]}")
    return list(dict.fromkeys(found))


async def _drift(fleet: Fleet) -> list[str]:
    engine = connect(fleet.direct_database_url, role="proof")
    try:
        async with engine.begin() as connection:
            return [str(drift) for drift in await audit(connection)]
    finally:
        await engine.dispose()


async def _read_back(store: ArtifactStore, prefixes: Sequence[str]) -> Mapping[str, Stored]:
    return {prefix: await _stored(store, prefix) for prefix in prefixes}


async def _stored(store: ArtifactStore, prefix: str) -> Stored:
    found: dict[str, Digest] = {}
    after = None
    while True:
        page = await store.list(prefix, after=after)
        for item in page.objects:
            content = await store.get(item.key, max_bytes=LARGEST)
            found[item.key] = Digest(len(content), hashlib.sha256(content).hexdigest())
        after = page.next_after
        if after is None:
            break
    try:
        manifest = await read_manifest(store, prefix)
    except (ObjectNotFound, StorageUnavailable):
        # There is none, or it is damaged.
        return Stored(None, found)
    listed = {file.path: Digest(file.size, file.sha256) for file in manifest.files}
    paths = {artifact_key(prefix, path): path for path in listed}
    read = {paths.get(key, key): value for key, value in found.items() if key != artifact_key(prefix, MANIFEST_NAME)}
    return Stored(listed, read)
