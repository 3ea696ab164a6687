"""Broken builds of the worker, each of which lacks one thing that the proof is about. Applied inside its processes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chaos import proof
from chaos.clocks import inside


@dataclass(frozen=True)
class Breakage:
    """``caught_by``: the checks that must notice it."""

    apply: Callable[[], None]
    caught_by: frozenset[str]


def variables(name: str) -> dict[str, str]:
    """With which a worker starts as the broken build of that name."""
    return inside() | {"CHAOS_BREAKAGE": name}


def _remove_fencing() -> None:
    from sqlalchemy import text

    from oddish.queue import finish
    from oddish.trials import progress
    from oddish.worker.service import WorkerService

    fence = " AND epoch = :epoch AND claim_id = :claim_id AND state = 'running'"
    for name in ("FENCE", "FINISH", "RETRY"):
        statement = getattr(finish, name)
        assert fence in statement
        setattr(finish, name, statement.replace(fence, ""))
    owner = "WHERE a.state = 'running' ORDER"
    recording = progress.RECORD.text
    assert owner in recording
    _replace(progress, "RECORD", text(recording.replace(owner, "ORDER")))
    _replace(WorkerService, "_on_fenced", lambda service, reason: None)


def _remove_sweep() -> None:
    from oddish.engine import client
    from oddish.sandbox import sweep
    from oddish.worker.workspace import Workspace

    _replace(Workspace, "sweep", lambda workspace: [])
    _replace(sweep, "sweep", lambda scratch: ())
    curated = client.curated_environment
    # Sandboxes are swept by the processes of attempts, which are to be broken as well.
    _replace(client, "curated_environment", lambda *given: curated(*given) | variables("sweep removed"))


def _damage_uploads() -> None:
    from obstore import put_async

    from oddish.storage import writing
    from oddish.storage.manifest import MANIFEST_NAME

    async def put_less(store: Any, key: str, data: bytes, **options: Any) -> object:
        return await put_async(store, key, data if key.endswith(MANIFEST_NAME) else data[:-1], **options)

    _replace(writing.obstore, "put_async", put_less)


def _omit_manifest() -> None:
    from oddish.storage.manifest import MANIFEST_NAME
    from oddish.storage.store import ArtifactStore

    put = ArtifactStore.put

    async def put_others(store: ArtifactStore, key: str, data: bytes, **options: bool) -> None:
        if not key.endswith(MANIFEST_NAME):
            await put(store, key, data, **options)

    _replace(ArtifactStore, "put", put_others)


def _drop_cancels() -> None:
    from oddish.worker.execution import Execution

    _replace(Execution, "cancel", lambda execution: None)


def _forget_cancels() -> None:
    from oddish.queue.finish import fence
    from oddish.trials import recording

    async def only_fence(*given: Any) -> None:
        await fence(*given)

    _drop_cancels()
    _replace(recording, "fence", only_fence)


def _replace(owner: object, name: str, value: object) -> None:
    assert hasattr(owner, name)
    setattr(owner, name, value)


BREAKAGES: Mapping[str, Breakage] = {
    "fencing removed": Breakage(_remove_fencing, frozenset({proof.ATTEMPTS, proof.EVENTS})),
    "sweep removed": Breakage(_remove_sweep, frozenset({proof.LEFTOVERS})),
    "uploads not checked": Breakage(_damage_uploads, frozenset({proof.ARTIFACTS})),
    "manifest not written": Breakage(_omit_manifest, frozenset({proof.ARTIFACTS})),
    "cancels not passed on": Breakage(_drop_cancels, frozenset({proof.STRANDED})),
    "cancels forgotten in the end": Breakage(_forget_cancels, frozenset({proof.CANCELS})),
}
