"""What the store really holds of a trial, beside what the database and the manifests say."""

from collections.abc import Sequence
from dataclasses import dataclass

from oddish.errors import OddishError
from oddish.storage.errors import ObjectNotFound
from oddish.storage.keys import artifact_key
from oddish.storage.manifest import MANIFEST_NAME, read_manifest
from oddish.storage.store import ArtifactStore, StoredObject
from oddish.trials.evidence import Attempt

MAX_OBJECTS = 5000


@dataclass(frozen=True)
class Place:
    """A prefix, the objects below it and how they agree with its manifest."""

    prefix: str
    attempt: int | None
    """The attempt that the database says it is of; None where it says nothing of it."""
    deciding: bool
    manifest: str
    """``read``, ``missing``, or why it cannot be used."""
    objects: Sequence[StoredObject]
    missing: Sequence[str]
    """Keys that the manifest lists and the store has not."""
    unlisted: Sequence[str]
    """Keys that the store has and the manifest does not list."""
    complete: bool
    """False when there are more objects than are listed here, so that nothing is said of missing ones."""


@dataclass(frozen=True)
class Inventory:
    trial_id: str
    stored_prefix: str | None
    """Of the deciding attempt, else of the latest that left files, as the database has it."""
    computed_prefix: str
    """Where the files of all attempts belong."""
    places: Sequence[Place]


async def take_inventory(store: ArtifactStore, trial_id: str, attempts: Sequence[Attempt]) -> Inventory:
    computed = f"trials/{trial_id}"
    stored = {entry.prefix: entry for entry in attempts if entry.prefix is not None}
    found = (await store.list(computed, limit=MAX_OBJECTS)).objects
    prefixes = dict.fromkeys([*stored, *(_attempt_prefix(item.key, computed) for item in found)])
    places = [await _place(store, prefix, stored.get(prefix)) for prefix in prefixes]
    return Inventory(trial_id, next(iter(stored), None), computed, places)


async def _place(store: ArtifactStore, prefix: str, attempt: Attempt | None) -> Place:
    page = await store.list(prefix, limit=MAX_OBJECTS)
    keys = {item.key for item in page.objects}
    listed: set[str] = set()
    state = "read"
    try:
        manifest = await read_manifest(store, prefix)
        listed = {artifact_key(prefix, name) for name in (MANIFEST_NAME, *(file.path for file in manifest.files))}
    except ObjectNotFound:
        state = "missing"
    except OddishError as error:
        state = error.message
    complete = page.next_after is None
    return Place(
        prefix=prefix,
        attempt=attempt.attempt if attempt else None,
        deciding=attempt.deciding if attempt else False,
        manifest=state,
        objects=page.objects,
        missing=sorted(listed - keys) if complete else [],
        unlisted=sorted(keys - listed) if state == "read" else [],
        complete=complete,
    )


def _attempt_prefix(key: str, computed: str) -> str:
    """The directory of an attempt, or the trial's own for what lies beside these."""
    first, slash, _ = key[len(computed) + 1 :].partition("/")
    return f"{computed}/{first}" if slash else computed
