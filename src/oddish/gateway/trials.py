"""The trials of a job, with what the attempt that decided each of them left."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import batched
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.documents import mapping, parse_object, sequence
from oddish.errors import NotFound, TooLarge
from oddish.gateway.document import JobTrial
from oddish.outcome import AttemptFacts, from_record
from oddish.storage.keys import artifact_key
from oddish.storage.store import ArtifactStore
from oddish.trials.evidence import MAX_RESULT_BYTES, RESULT
from oddish.trials.queries import UNFINISHED

TOGETHER = 8
"""Records that are asked for at a time, so that a store far away is not waited for once for each."""
MOST_BYTES = 64 * 1024 * 1024
"""Of the records of one job; what comes after that is read trial by trial."""

# Each trial with the attempt that decided it, else with the latest.
TRIALS = text("""
SELECT t.id, t.gateway_job_id AS job_id, t.gateway_agent AS agent, t.status, t.harbor_stage,
  t.result #> '{_verifier,exit_code}' AS exit_code, t.result #> '{_environment,notes}' AS notes,
  a.state, a.facts -> 'judged' AS judged, a.artifact_prefix AS prefix
FROM trials t LEFT JOIN LATERAL (
  SELECT state, facts, artifact_prefix FROM attempts WHERE trial_id = t.id
  ORDER BY (epoch = t.decided_by_epoch) IS TRUE DESC, epoch DESC LIMIT 1
) a ON true
WHERE t.gateway_job_id = ANY (CAST(:job_ids AS text[])) AND t.deleted_at IS NULL
  AND (CAST(:only AS text[]) IS NULL OR t.id = ANY (CAST(:only AS text[]))) ORDER BY t.trial_index
""")


@dataclass(frozen=True)
class Found:
    """A trial as the database has it, and where the files of its attempt are, if it left any."""

    trial: JobTrial
    prefix: str | None


async def find_trials(
    connection: AsyncConnection, job_id: str, *, only: Sequence[str] | None = None
) -> Sequence[Found]:
    """In the order in which they were made, without Harbor's records, which are in the store. ``only``: ids of some."""
    rows = await connection.execute(TRIALS, {"job_ids": [job_id], "only": None if only is None else list(only)})
    return [_found(row) for row in rows]


async def trials_of_jobs(connection: AsyncConnection, job_ids: Sequence[str]) -> Mapping[str, Sequence[JobTrial]]:
    """Those of each job that has any, as ``find_trials`` finds them."""
    found: defaultdict[str, list[JobTrial]] = defaultdict(list)
    for row in await connection.execute(TRIALS, {"job_ids": list(job_ids), "only": None}):
        found[row.job_id].append(_found(row).trial)
    return found


async def with_records(store: ArtifactStore, found: Sequence[Found]) -> Sequence[JobTrial]:
    """The trials, with what Harbor recorded of those that have ended. Raises the errors of the store."""
    trials: list[JobTrial] = []
    left = MOST_BYTES
    for some in batched(found, TOGETHER):
        for entry, content in zip(some, await asyncio.gather(*(_read(store, entry) for entry in some)), strict=True):
            left -= len(content)
            trials.append(replace(entry.trial, record=_parsed(content) if left >= 0 else None))
    return trials


async def _read(store: ArtifactStore, found: Found) -> bytes:
    """Nothing where there is nothing of a size to be passed on."""
    if found.prefix is None or found.trial.facts is None:
        return b""
    try:
        return await store.get(artifact_key(found.prefix, RESULT), max_bytes=MAX_RESULT_BYTES)
    except (NotFound, TooLarge):
        return b""


def _parsed(content: bytes) -> Mapping[str, Any] | None:
    """None for what is no JSON object that can be passed on."""
    document, problem = parse_object(content)
    try:
        json.dumps(document, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return document if problem is None else None


def _found(row: Row[Any]) -> Found:
    code = row.exit_code
    trial = JobTrial(
        id=row.id,
        agent=row.agent,
        status=row.status,
        facts=None if row.status in UNFINISHED else _facts(row),
        exit_code=code if isinstance(code, int) else None,
        environment_notes=[note for note in sequence(row.notes) if isinstance(note, str)],
    )
    return Found(trial, row.prefix)


def _facts(row: Row[Any]) -> AttemptFacts:
    """An end that no attempt has told of is named by what is known of it."""
    if judged := mapping(row.judged):
        return from_record(judged)
    if row.harbor_stage == "cancelled":
        return AttemptFacts("done", cancelled=True)
    return AttemptFacts("lost" if row.state == "lost" else "crashed")
