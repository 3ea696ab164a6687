"""The typed interface to an oddish server, one method per thing it can do."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

from oddish.client.analysis import Analysis
from oddish.client.archive import EXPIRED, packed
from oddish.client.browsing import Browsing
from oddish.client.costs import Costs
from oddish.client.credentials import Credentials
from oddish.client.diagnostics import Diagnostics
from oddish.client.endpoint import named_endpoints
from oddish.client.errors import ApiError
from oddish.client.evidence import Evidence
from oddish.client.exports import Exports
from oddish.client.gateway import Gateway
from oddish.client.imports import Imports
from oddish.client.keys import Keys
from oddish.client.limits import Limits
from oddish.client.live import Live
from oddish.client.paths import segment
from oddish.client.retry import RetryPolicy
from oddish.client.shapes import items, members, misshapen
from oddish.client.sharing import Sharing
from oddish.client.tags import Tags
from oddish.client.types import (
    JSON,
    PAGE,
    BatchAnswer,
    BatchResult,
    Cancelled,
    Deleted,
    Experiment,
    Health,
    Load,
    Priority,
    RegistryAuth,
    Retries,
    SignInLink,
    Submitted,
    SweepRequest,
    Task,
    Trial,
    UploadedVersion,
    UploadTarget,
)
from oddish.client.versions import Versions
from oddish.tasks.definition import task_name
from oddish.tasks.package import content_hash, publish_set

if TYPE_CHECKING:
    import httpx2


TASK = ("id", "name", "status", "experiment_id", "created_at")
TRIAL = ("id", "task_id", "experiment_id", "agent", "model", "status", "reward", "attempts", "max_attempts")
"""What is needed of an answer. Releases may differ in the rest."""
PARTLY = 207
"""Some submissions of a batch were refused."""


class Client:
    """A server and a key::

        with Client("https://oddish.example.com", key) as client:
            version = client.upload(Path("my-task"))
            client.sweep({"task_id": version["task_id"], "priority": "low", "configs": [...]})

    Every method returns the JSON of the answer and raises :class:`~oddish.errors.OddishError` otherwise. Without an
    address the variables of the environment name the server, and that of ``gateway``, as for the commands.
    """

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        transport: "httpx2.BaseTransport | None" = None,
        timeout: "httpx2.Timeout | float | None" = None,
        retry: RetryPolicy | None = None,
        waiting: Callable[[str, float], None] = lambda reason, seconds: None,
    ) -> None:
        """``waiting`` is told why, and for how many seconds, before a call is tried again after more than a moment."""
        from oddish.client.connection import Connection

        def connection(url: str, key: str | None) -> Connection:
            return Connection(url, key, transport=transport, timeout=timeout, retry=retry, waiting=waiting)

        endpoints = named_endpoints() if base_url is None else None
        if endpoints is not None:
            base_url, key = endpoints.server.url, endpoints.server.key
        self._connection = connection(base_url or "", key)
        self._gateway = self._connection
        if endpoints is not None and endpoints.gateway != endpoints.server:
            self._gateway = connection(endpoints.gateway.url, endpoints.gateway.key)

    @property
    def base_url(self) -> str:
        return self._connection.base_url

    @property
    def browsing(self) -> Browsing:
        """Finding tasks by what they are and what their trials came to."""
        return Browsing(self._connection)

    @property
    def keys(self) -> Keys:
        """The API keys of the organisation."""
        return Keys(self._connection)

    @property
    def limits(self) -> Limits:
        """How many trials run at once, of what and of whom."""
        return Limits(self._connection)

    @property
    def costs(self) -> Costs:
        """What trials have spent."""
        return Costs(self._connection)

    @property
    def credentials(self) -> Credentials:
        """What agents need, and the secrets of the organisation."""
        return Credentials(self._connection)

    @property
    def imports(self) -> Imports:
        """Trials that were run elsewhere."""
        return Imports(self._connection)

    @property
    def diagnostics(self) -> Diagnostics:
        """The state of the queue, and who works on it."""
        return Diagnostics(self._connection)

    @property
    def evidence(self) -> Evidence:
        """What the attempts at a trial left."""
        return Evidence(self._connection)

    @property
    def live(self) -> Live:
        """What trials say and do while they run."""
        return Live(self._connection)

    @property
    def versions(self) -> Versions:
        """The versions of a task, their files, and what their trials came to."""
        return Versions(self._connection)

    @property
    def tags(self) -> Tags:
        """What tasks are found by."""
        return Tags(self._connection)

    @property
    def sharing(self) -> Sharing:
        """Experiments that whoever has their link may read."""
        return Sharing(self._connection)

    @property
    def exports(self) -> Exports:
        """Datasets that the server shows to the organisation."""
        return Exports(self._connection)

    @property
    def analysis(self) -> Analysis:
        """What is found out about the trials of tasks."""
        return Analysis(self._connection)

    @property
    def gateway(self) -> Gateway:
        """Runs and verifications of tasks whose archives lie elsewhere."""
        return Gateway(self._gateway)

    def close(self) -> None:
        self._connection.close()
        self._gateway.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def server_time(self) -> datetime:
        """Now, by the clock of the server as far as its answers have told."""
        return self._connection.server_time()

    def health(self) -> Health:
        return members(self._connection.call("GET", "/health"), Health, "status", "database")

    def sign_in_link(self) -> SignInLink:
        """A link that signs one browser in, once, to look at pages as the user of this key."""
        answer = self._connection.call("POST", "/sign-in", once=True)
        return members(answer, SignInLink, "url", "expires_in_seconds")

    def load(self) -> Load:
        found = cast("Load", self._connection.call("GET", "/load"))
        if isinstance(ceiling := found.get("submit_ceiling"), int):
            self._connection.calls_pace.cap(ceiling)
        return found

    def send_at_once(self, calls: int) -> None:
        """Have so many calls under way when there are threads for them; without it what goes well decides."""
        self._connection.calls_pace.fix(calls)
        self._connection.storage_pace.fix(calls)

    def upload(
        self,
        task_dir: Path,
        *,
        name: str | None = None,
        force_new_version: bool = False,
        message: str | None = None,
        user: str | None = None,
        priority: Priority | None = None,
    ) -> UploadedVersion:
        """Make the server's version of the task equal to the directory; unchanged content is not sent again.

        ``message`` describes a new version; ``user`` and ``priority`` are those of its task.
        """
        files = publish_set(task_dir)
        digest = content_hash(files)
        init = {"name": name or task_name(task_dir.resolve().name), "content_hash": digest} | (
            {"force_new_version": True} if force_new_version else {}
        )
        if message is not None:
            init["message"] = message
        target = self._upload_target(init)
        if target["content_unchanged"] or target.get("upload_url") is None:
            return target
        with packed(files, f"task {target['name']}") as archive:
            try:
                archive.send(self._connection, target)
            except ApiError as error:
                if error.problem_code != EXPIRED:
                    raise
                target = self._upload_target(init)
                archive.send(self._connection, target)
        if not target["requires_completion"]:
            return target
        completion: dict[str, object] = {
            "task_id": target["task_id"],
            "name": target["name"],
            "version": target["version"],
        }
        of_task = {"user": user, "priority": priority}
        completion |= {name: value for name, value in of_task.items() if value is not None}
        answer = self._connection.call(
            "POST",
            "/tasks/upload/complete",
            body=completion | {"content_hash": digest},
            repeatable=True,
            patient=True,
        )
        return members(answer, UploadedVersion, "task_id", "content_hash")

    def _upload_target(self, init: Mapping[str, object]) -> UploadTarget:
        answer = self._connection.call("POST", "/tasks/upload/init", body=init, repeatable=True)
        return members(answer, UploadTarget, *UploadTarget.__required_keys__)

    def sweep(self, request: SweepRequest, *, idempotency_key: str | None = None) -> Submitted:
        """Ask for trials. Those that the experiment already has count; only the shortfall is created.

        A key is drawn for each call, so that a repetition after a lost answer creates nothing twice while a new call
        replaces what has failed since.
        """
        answer = self._connection.call("POST", "/tasks/sweep", body=request, once=True, idempotency_key=idempotency_key)
        return members(answer, Submitted, *Submitted.__required_keys__)

    def sweep_batch(
        self, requests: Sequence[SweepRequest], *, idempotency_key: str | None = None
    ) -> list[Submitted | ApiError]:
        """As ``sweep`` for each of ``requests``, in their order: what it came to, or why it was refused."""
        answer = members(
            self._connection.call(
                "POST",
                "/tasks/sweep/batch",
                body={"submissions": list(requests)},
                once=True,
                idempotency_key=idempotency_key,
                patient=True,
                success=(200, PARTLY),
            ),
            BatchAnswer,
            "results",
        )
        results = items(cast("JSON", answer["results"]), BatchResult, "success", "status_code")
        if len(results) != len(requests):
            raise misshapen(f"{len(results)} results of {len(requests)} submissions")
        return [_outcome(result) for result in results]

    def task(self, task_id: str) -> Task:
        return _task(self._connection.call("GET", f"/tasks/{segment(task_id, 'a task')}"))

    def trial(self, trial_id: str) -> Trial:
        return members(self._connection.call("GET", f"/trials/{segment(trial_id, 'a trial')}"), Trial, *TRIAL)

    def experiment(self, experiment_id: str) -> Experiment:
        """By id or name."""
        return cast(
            "Experiment", self._connection.call("GET", f"/experiments/{segment(experiment_id, 'an experiment')}")
        )

    def tasks(
        self,
        *,
        experiment_id: str | None = None,
        name: str | None = None,
        limit: int = PAGE,
        offset: int = 0,
        include_trials: bool = True,
    ) -> list[Task]:
        """Newest first. ``experiment_id`` is an id or a name, ``name`` the exact one of a task."""
        params: dict[str, str | int | bool] = {
            "limit": limit,
            "offset": offset,
            "include_trials": include_trials,
            "include_queue_info": include_trials,
        }
        if experiment_id is not None:
            params["experiment_id"] = experiment_id
        if name is not None:
            params["name"] = name
        answer = self._connection.call("GET", "/tasks", params=params)
        return [_task(task) for task in cast("list[JSON]", items(answer, Task))]

    def all_tasks(self) -> list[Task]:
        """With their trials, newest first, however many pages that takes."""
        return list(_all_pages(lambda offset: self.tasks(offset=offset)))

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
        return cast(
            "Cancelled",
            self._connection.call("POST", "/tasks/cancel", body=body, once=True),
        )

    def retry(
        self,
        *,
        trial_ids: Sequence[str] = (),
        task_id: str | None = None,
        experiment_id: str | None = None,
        registry_auth: Sequence[RegistryAuth] = (),
        gate_baselines: bool = True,
    ) -> Retries:
        """Run trials again: those named, or what failed, was cancelled or skipped of a task or an experiment.

        All of them in one transaction; each gets a new one in its place.
        """
        named = {"trial_ids": list(trial_ids), "task_id": task_id, "experiment_id": experiment_id}
        body: dict[str, object] = {name: value for name, value in named.items() if value}
        body["gate_baselines"] = gate_baselines
        if registry_auth:
            body["registry_auth"] = list(registry_auth)
        answer = self._connection.call("POST", "/trials/retry", body=body, once=True, patient=True)
        return members(answer, Retries, *Retries.__required_keys__)

    def delete_trial(self, trial_id: str) -> Deleted:
        """It is found nowhere any more; one that has not ended is stopped. Takes a key of an admin, as the others."""
        return self._delete("trials", trial_id, "a trial")

    def delete_task(self, task_id: str) -> Deleted:
        """With all its versions and trials. Its name is free again."""
        return self._delete("tasks", task_id, "a task")

    def delete_experiment(self, experiment_id: str) -> Deleted:
        """By id or name, with the trials that ran in it. Its name is free again."""
        return self._delete("experiments", experiment_id, "an experiment")

    def _delete(self, collection: str, name: str, kind: str) -> Deleted:
        answer = self._connection.call("DELETE", f"/{collection}/{segment(name, kind)}", patient=True)
        return members(answer, Deleted, "message")


def _task(answer: JSON) -> Task:
    task = members(answer, Task, *TASK)
    if task.get("trials") is not None:
        items(cast("JSON", task["trials"]), Trial, *TRIAL)
    return task


def _outcome(result: BatchResult) -> Submitted | ApiError:
    if result["success"]:
        return members(cast("JSON", result.get("task")), Submitted, *Submitted.__required_keys__)
    return ApiError(result.get("error") or {}, result["status_code"])


def _all_pages(page: Callable[[int], list[Task]]) -> Iterator[Task]:
    offset = 0
    while True:
        tasks = page(offset)
        yield from tasks
        if len(tasks) < PAGE:
            return
        offset += PAGE
