"""The typed interface to an oddish server, one method per thing it can do."""

import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, cast
from urllib.parse import quote

import httpx2

from oddish.client.connection import DEFAULT_TIMEOUT, Connection
from oddish.client.retry import RetryPolicy
from oddish.client.types import (
    Cancelled,
    Experiment,
    Health,
    Load,
    Submitted,
    SweepRequest,
    Task,
    Trial,
    TrialFile,
    TrialFiles,
    TrialLogs,
    UploadedVersion,
    UploadTarget,
)
from oddish.tasks.definition import task_name
from oddish.tasks.package import content_hash, publish_set, write_archive

PAGE = 200


class Client:
    """A server and a key::

        with Client("https://oddish.example.com", key) as client:
            version = client.upload(Path("my-task"))
            client.sweep({"task_id": version["task_id"], "priority": "low", "configs": [...]})

    Every method returns the JSON of the answer and raises :class:`~oddish.errors.OddishError` otherwise.
    """

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        *,
        transport: httpx2.BaseTransport | None = None,
        timeout: httpx2.Timeout | float = DEFAULT_TIMEOUT,
        retry: RetryPolicy | None = None,
    ) -> None:
        self._connection = Connection(base_url, key, transport=transport, timeout=timeout, retry=retry)

    @property
    def base_url(self) -> str:
        return self._connection.base_url

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def health(self) -> Health:
        return cast("Health", self._connection.call("GET", "/health"))

    def load(self) -> Load:
        return cast("Load", self._connection.call("GET", "/load"))

    def upload(self, task_dir: Path, *, name: str | None = None, force_new_version: bool = False) -> UploadedVersion:
        """Make the server's version of the task equal to the directory; unchanged content is not sent again."""
        files = publish_set(task_dir)
        digest = content_hash(files)
        identity = {"name": name or task_name(task_dir.resolve().name), "content_hash": digest}
        target = cast(
            "UploadTarget",
            self._connection.call(
                "POST",
                "/tasks/upload/init",
                body=identity | ({"force_new_version": True} if force_new_version else {}),
                repeatable=True,
            ),
        )
        url = target.get("upload_url")
        if target["content_unchanged"] or url is None:
            return target
        with tempfile.TemporaryFile() as archive:
            write_archive(files, archive)
            self._connection.put_file(url, archive, target["upload_headers"])
        if not target["requires_completion"]:
            return target
        completion = {"task_id": target["task_id"], "name": target["name"], "version": target["version"]}
        return cast(
            "UploadedVersion",
            self._connection.call(
                "POST",
                "/tasks/upload/complete",
                body=completion | {"content_hash": digest},
                repeatable=True,
            ),
        )

    def sweep(self, request: SweepRequest, *, idempotency_key: str | None = None) -> Submitted:
        """Ask for trials. Those that the experiment already has count; only the shortfall is created.

        A key is drawn for each call, so that a repetition after a lost answer creates nothing twice while a new call
        replaces what has failed since.
        """
        return cast(
            "Submitted",
            self._connection.call(
                "POST", "/tasks/sweep", body=request, idempotency_key=idempotency_key or secrets.token_hex(16)
            ),
        )

    def task(self, task_id: str) -> Task:
        return cast("Task", self._connection.call("GET", f"/tasks/{_segment(task_id)}"))

    def trial(self, trial_id: str) -> Trial:
        return cast("Trial", self._connection.call("GET", f"/trials/{_segment(trial_id)}"))

    def trial_files(self, trial_id: str) -> Iterator[TrialFile]:
        """All that are stored of a trial, in the order of their paths, however many pages that takes."""
        cursor: str | None = None
        while True:
            params = {} if cursor is None else {"cursor": cursor}
            page = cast(
                "TrialFiles", self._connection.call("GET", f"/trials/{_segment(trial_id)}/files", params=params)
            )
            yield from page["files"]
            cursor = page["cursor"]
            if cursor is None:
                return

    def trial_logs(self, trial_id: str) -> str:
        """The ends of a trial's text files, each under a line ``=== PATH ===``."""
        return cast("TrialLogs", self._connection.call("GET", f"/trials/{_segment(trial_id)}/logs"))["logs"]

    def experiment(self, experiment_id: str) -> Experiment:
        """By id or name."""
        return cast("Experiment", self._connection.call("GET", f"/experiments/{_segment(experiment_id)}"))

    def tasks(
        self, *, experiment_id: str | None = None, limit: int = PAGE, offset: int = 0, include_trials: bool = True
    ) -> list[Task]:
        """Newest first. ``experiment_id`` is an id or a name."""
        params: dict[str, str | int | bool] = {
            "limit": limit,
            "offset": offset,
            "include_trials": include_trials,
            "include_queue_info": include_trials,
        }
        if experiment_id is not None:
            params["experiment_id"] = experiment_id
        return cast("list[Task]", self._connection.call("GET", "/tasks", params=params))

    def experiment_tasks(self, experiment_id: str) -> list[Task]:
        """All tasks of an experiment with their trials, however many pages that takes."""
        return list(_all_pages(lambda offset: self.tasks(experiment_id=experiment_id, offset=offset)))

    def cancel(
        self,
        *,
        task_ids: Sequence[str] = (),
        trial_ids: Sequence[str] = (),
        experiment_id: str | None = None,
    ) -> Cancelled:
        """Stop what is queued or running; finished trials keep their results."""
        body: dict[str, object] = {"task_ids": list(task_ids)}
        if trial_ids:
            body["trial_ids"] = list(trial_ids)
        if experiment_id is not None:
            body["experiment_id"] = experiment_id
        return cast("Cancelled", self._connection.call("POST", "/tasks/cancel", body=body, repeatable=True))


def _segment(value: str) -> str:
    return quote(value, safe="")


def _all_pages(page: Callable[[int], list[Task]]) -> Iterator[Task]:
    offset = 0
    while True:
        tasks = page(offset)
        yield from tasks
        if len(tasks) < PAGE:
            return
        offset += PAGE
