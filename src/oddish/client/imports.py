"""Trials that were run elsewhere: announced in batches, sent as one archive each, judged by the server."""

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Literal, NotRequired, TypedDict, cast

from oddish.client.shapes import items, members
from oddish.client.types import JSON, Problem

if TYPE_CHECKING:
    from oddish.client.connection import Connection

MOST_TRIALS = 100
"""Of one batch."""


class ImportItem(TypedDict):
    """One trial; its directory is the member of the archive that is named by its place in the batch, from 0."""

    task_id: str
    external_trial_id: str
    task_version: NotRequired[int]
    job_name: NotRequired[str]


class KnownTrial(TypedDict):
    external_trial_id: str
    trial_id: str
    task_id: str


class ImportBatch(TypedDict):
    """A batch that was announced: which trials the experiment has, and where the archive with the others goes."""

    import_id: str
    experiment_id: str
    experiment_name: str
    known: list[KnownTrial]
    upload_url: str | None
    """None when there is nothing to send."""
    upload_method: str
    upload_headers: dict[str, str]


class ImportedTrial(TypedDict):
    external_trial_id: str
    status: Literal["imported", "existing", "error"]
    trial_id: str | None
    task_id: str | None
    files_extracted: int
    trial_status: str | None
    reward: float | None
    error: Problem | None


class BatchImported(TypedDict):
    experiment_id: str
    experiment_name: str
    trials: list[ImportedTrial]


class Imports:
    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def begin(self, experiment: str, trials: Sequence[ImportItem], *, user: str | None = None) -> ImportBatch:
        """Announce at most ``MOST_TRIALS``. ``experiment`` is an id or a name; a new one is ``user``'s."""
        body: dict[str, object] = {"experiment_id": experiment, "trials": list(trials)}
        if user is not None:
            body["user"] = user
        answer = self._connection.call("POST", "/trials/import/batch", body=body, repeatable=True)
        return members(answer, ImportBatch, *ImportBatch.__required_keys__)

    def send(self, batch: ImportBatch, archive: IO[bytes]) -> None:
        """Put the archive, a ``.tar.gz``, where the server said."""
        self._connection.put_file(batch["upload_url"] or "", archive, batch["upload_headers"])

    def complete(self, batch: ImportBatch, trials: Sequence[ImportItem]) -> BatchImported:
        """Have the archive judged. ``trials`` are those that were announced; repeating it adds nothing."""
        body = {"import_id": batch["import_id"], "experiment_id": batch["experiment_id"], "trials": list(trials)}
        answer = self._connection.call(
            "POST", "/trials/import/batch/complete", body=body, repeatable=True, patient=True
        )
        done = members(answer, BatchImported, *BatchImported.__required_keys__)
        items(cast("JSON", done["trials"]), ImportedTrial, *ImportedTrial.__required_keys__)
        return done
