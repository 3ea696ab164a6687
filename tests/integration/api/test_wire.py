"""Clients of the wire format work unchanged: their calls, in their order, are answered with 200 and what they read.

``pytest -s`` shows the calls.
"""

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from .serving import KEY, Server, TaskFolder
from .wire import (
    ADMIN_READS,
    BATCH,
    BROWSED,
    CANCELLED,
    DELETED,
    DETAIL,
    FILES,
    IMPORT_TARGET,
    IMPORTED,
    LOGS,
    SHARE,
    SIGNED_FILES,
    STRUCTURED,
    SUBMITTED,
    TARGET,
    TASK,
    TASK_VERSION,
    TRIAL,
    VERSION,
    Caller,
)

type NewTask = Callable[..., TaskFolder]

DATA = Path(__file__).parents[2] / "data"
TRACE = DATA / "wire-trace.jsonl"
RECORDED = DATA / "harbor-jobs" / "01-hello-oracle" / "hello-world__2RJ3NiW"
RECORDED_TASK, RECORDED_EXPERIMENT = "hello-2cf24dba", "exp12345"
LOG = b"did it"
EVIDENCE = {
    "result.json": b'{"task_name": "hello"}',
    "agent/log.txt": LOG,
    "agent/trajectory.json": b'{"schema_version": "ATIF-v1.4", "steps": []}',
    "verifier/test-stdout.txt": b"1 passed",
}


@pytest.fixture
def caller(server: Server) -> Iterator[Caller]:
    server.offer("local", preference=1)
    server.offer("docker", preference=0)
    made = Caller(server.url, KEY)
    yield made
    print("\n" + "\n".join(made.lines))  # noqa: T201 - shown by `pytest -s`


def test_every_recorded_request_of_the_oldest_client_is_answered_as_it_needs(
    server: Server, caller: Caller, new_task: NewTask
) -> None:
    Replay(server, caller, new_task("hello")).run()
    assert sum(line.split()[2] == "200" for line in caller.lines) >= 35


class Replay:
    """The recording, with what this server names in place of what that one named."""

    def __init__(self, server: Server, caller: Caller, folder: TaskFolder) -> None:
        self.server, self.caller, self.folder = server, caller, folder
        self.names = {RECORDED_EXPERIMENT: "swift-comet-v8k2"}
        self.target: dict[str, Any] = {}
        self.files: dict[str, Any] = {}
        self.trials = 0

    def run(self) -> None:
        for line in TRACE.read_text().splitlines():
            record = json.loads(self.renamed(line))
            assert record["idem"] is None
            self.replay(record["m"], record["path"], record["body"])

    def renamed(self, text: str) -> str:
        for theirs, ours in self.names.items():
            text = text.replace(theirs, ours)
        return text

    def replay(self, method: str, path: str, body: Any) -> None:
        call = self.caller.call
        match method, path.partition("?")[0].strip("/").split("/"):
            case "POST", ["tasks", "upload", "init"]:
                self.target = call(method, path, TARGET, body)
                self.names[RECORDED_TASK] = self.target["task_id"]
                assert self.target["content_unchanged"] == (self.target["upload_url"] is None)
            case ("PUT", ["blob", _]) | ("POST", ["tasks", "upload", "complete"]) if self.target["content_unchanged"]:
                self.caller.skip(method, path, "the server has this content")
            case "PUT", ["blob", _]:
                self.caller.put(self.target, self.folder.archive)
            case "POST", ["tasks", "upload", "complete"]:
                call(method, path, VERSION, body)
            case "POST", ["tasks", "sweep"]:
                self.submitted(call(method, path, SUBMITTED, body), body)
            case "GET", ["tasks", _, "files"]:
                self.files = call(method, path, SIGNED_FILES)
            case "GET", ["blob", _]:
                self.fetch_task_files()
            case "GET", ["tasks", *_]:
                self.task_read(call(method, path, [TASK] if path.startswith("/tasks?") else TASK))
            case "GET", ["public", *_]:
                self.caller.skip(method, path, "asked only when the call before was refused")
            case "GET", ["trials", trial_id, *what]:
                self.trial_read(trial_id, what, path)
            case "POST", ["tasks", "cancel"]:
                assert call(method, path, CANCELLED, body)["trials_cancelled"] == 0
            case "DELETE", ["tasks", task_id]:
                call(method, path, DELETED)
                call("GET", f"/tasks/{task_id}", status=404)
            case other:
                raise AssertionError(f"{other} is not replayed")

    def submitted(self, answer: dict[str, Any], body: dict[str, Any]) -> None:
        wanted = sum(config["n_trials"] for config in body["configs"])
        assert (answer["trials_count"], answer["experiment_name"]) == (wanted, body["experiment_id"])
        assert list(answer["providers"]) == ["default"]
        for index in range(self.trials, self.trials + wanted):
            finish(self.server, f"{answer['id']}-{index}")
        self.trials += wanted

    def task_read(self, answer: Any) -> None:
        (task,) = answer if isinstance(answer, list) else [answer]
        assert (task["id"], task["status"]) == (self.target["task_id"], "completed")
        assert {int(trial["id"].rpartition("-")[2]) for trial in task["trials"]} <= {*range(self.trials)}
        assert all(trial["reward"] == 1 for trial in task["trials"])

    def trial_read(self, trial_id: str, what: list[str], path: str) -> None:
        match what:
            case ["logs"]:
                assert LOG.decode() in self.caller.call("GET", path, LOGS)["logs"]
            case ["logs", "structured"]:
                assert self.caller.call("GET", path, STRUCTURED)["trial_id"] == trial_id
            case ["files"]:
                listed = {file["path"]: file["size"] for file in self.caller.call("GET", path, FILES)["files"]}
                assert listed == {name: len(content) for name, content in EVIDENCE.items()}
            case ["files", *parts]:
                assert self.caller.read(path) == EVIDENCE["/".join(parts)]
            case [("result" | "trajectory") as document]:
                name = "result.json" if document == "result" else "agent/trajectory.json"
                assert self.caller.call("GET", path, dict) == json.loads(EVIDENCE[name])

    def fetch_task_files(self) -> None:
        if (archive := self.files["archive_url"]) is not None:
            with tarfile.open(fileobj=io.BytesIO(self.caller.fetch(archive))) as tar:
                members = [member for member in tar if member.isfile()]
                assert "task.toml" in {member.name for member in members}
                for member in members:
                    assert tar.extractfile(member).read() == (self.folder.path / member.name).read_bytes()  # type: ignore[union-attr]
            return
        for file in self.files["files"]:
            assert self.caller.fetch(file["url"]) == (self.folder.path / file["path"]).read_bytes()


def finish(server: Server, trial_id: str) -> None:
    """As a worker that has run it successfully."""
    server.leave_files(trial_id, EVIDENCE)
    server.sql("UPDATE jobs SET state = 'done', finished_at = now() WHERE subject_id = %s", trial_id)
    server.sql("UPDATE trials SET reward = 1, has_trajectory = true WHERE id = %s", trial_id)


def test_experiments_are_run_read_and_cancelled_as_clients_do(caller: Caller, new_task: NewTask) -> None:
    call = caller.call
    task_id = upload(caller, new_task("hello"))
    body = submission(task_id)
    assert call("POST", "/tasks/sweep", SUBMITTED, body)["providers"] == {"default": 2}
    batch = {"submissions": [{**body, "experiment_id": name} for name in ("one", "two")]}
    assert call("POST", "/tasks/sweep/batch", BATCH, batch)["succeeded"] == 2

    call("GET", "/tasks/shown", status=404)
    assert [task["id"] for task in call("GET", "/tasks?experiment_id=shown", [TASK])] == [task_id]
    assert call("GET", "/tasks?limit=200&offset=0", [TASK])[0]["status"] == "pending"
    assert len(call("GET", f"/tasks/{task_id}/versions", [TASK_VERSION])) == 1
    call("GET", f"/tasks/{task_id}/versions/1", TASK_VERSION)
    call("GET", f"/tasks/{task_id}/trials", [TRIAL])
    call("GET", f"/tasks/{task_id}/trials/0", TRIAL)
    call("GET", f"/trials/{task_id}-0", TRIAL)
    for path, shape in ADMIN_READS.items():
        call("GET", path, shape)

    assert call("POST", "/tasks/cancel", CANCELLED, {"task_ids": [task_id]})["trials_cancelled"] == 6
    stopped = call("GET", f"/trials/{task_id}-0", TRIAL)
    assert (stopped["status"], stopped["harbor_stage"]) == ("failed", "cancelled")
    assert call("GET", f"/tasks/{task_id}", TASK)["status"] == "failed"


def test_tasks_are_browsed_as_clients_do(caller: Caller, new_task: NewTask) -> None:
    task_id = upload(caller, new_task("hello"))
    caller.call("POST", "/tasks/sweep", SUBMITTED, submission(task_id))
    browsed = caller.call("GET", "/tasks/browse?limit=25&offset=0&query=hel", BROWSED)
    assert [task["id"] for task in browsed["items"]] == [task_id]
    assert caller.call("GET", f"/tasks/{task_id}/detail", DETAIL)["totals"]["total_trials"] == 2


def test_trials_are_retried_and_experiments_deleted_as_clients_do(caller: Caller, new_task: NewTask) -> None:
    call = caller.call
    task_id = upload(caller, new_task("hello"))
    experiment = call("POST", "/tasks/sweep", SUBMITTED, submission(task_id))["experiment_id"]
    call("POST", "/tasks/cancel", CANCELLED, {"task_ids": [task_id]})
    call("POST", f"/trials/{task_id}-0/retry", dict, {"gate_baselines": True})
    assert call("GET", f"/trials/{task_id}-0", TRIAL)["superseded_by_trial_id"] == f"{task_id}-2"
    call("DELETE", f"/trials/{task_id}-2", DELETED)
    call("GET", f"/trials/{task_id}-2", status=404)
    call("DELETE", f"/experiments/{experiment}", DELETED)
    assert call("GET", f"/tasks?experiment_id={experiment}", [TASK]) == []


def test_experiments_are_published_as_clients_do(caller: Caller, new_task: NewTask) -> None:
    call = caller.call
    body = {**submission(upload(caller, new_task("hello"))), "publish_experiment": True}
    experiment = call("POST", "/tasks/sweep", SUBMITTED, body)["experiment_id"]
    share = call("GET", f"/experiments/{experiment}/share", SHARE)
    assert share["is_public"]
    assert share["public_token"]
    assert not call("POST", f"/experiments/{experiment}/unpublish", SHARE)["is_public"]
    assert call("POST", f"/experiments/{experiment}/publish", SHARE)["public_token"] != share["public_token"]


def test_an_imported_trial_is_sent_as_clients_send_it(caller: Caller, new_task: NewTask) -> None:
    task_id = upload(caller, new_task("hello"))
    trial = {
        "agent": "oracle",
        "model": None,
        "environment": "docker",
        "status": "success",
        "reward": 1.0,
        "result": None,
        "error_message": None,
        "harbor_stage": "completed",
        "input_tokens": None,
        "cache_tokens": None,
        "output_tokens": None,
        "total_steps": None,
        "cost_usd": None,
        "phase_timing": None,
        "has_trajectory": False,
        "harbor_config": {},
        "started_at": "2026-04-01T10:00:00Z",
        "finished_at": "2026-04-01T10:01:00Z",
        "external_trial_id": RECORDED.name,
        "imported_at": "2026-04-02T10:00:00Z",
    }
    body = {"task_id": task_id, "experiment_id": "brought", "trial": trial, "upload_artifacts": True}
    target = caller.call("POST", "/trials/import/init", IMPORT_TARGET, body)
    files = {str(path.relative_to(RECORDED)): path.read_bytes() for path in RECORDED.rglob("*") if path.is_file()}
    caller.put(target, archive(files))
    done = caller.call("POST", "/trials/import/complete", IMPORTED, {"trial_id": target["trial_id"]})
    assert done["files_extracted"] == len(files)
    brought = caller.call("GET", f"/trials/{target['trial_id']}", TRIAL)
    assert (brought["origin"], brought["status"], brought["reward"]) == ("imported", "success", 1.0)
    assert caller.call("POST", "/trials/import/init", IMPORT_TARGET, body)["trial_id"] == target["trial_id"]


def test_tasks_that_are_sent_side_by_side_end_in_one_experiment(caller: Caller, new_task: NewTask) -> None:
    folders = [new_task(f"task-{number}") for number in range(8)]

    def run(folder: TaskFolder) -> str:
        body = {"configs": [{"agent": "nop", "model": None, "n_trials": 1}], "experiment_id": "swift-comet-v8k2"}
        answer = caller.call("POST", "/tasks/sweep", SUBMITTED, {"task_id": upload(caller, folder), **body})
        return str(answer["experiment_id"])

    with ThreadPoolExecutor(len(folders)) as pool:
        assert len(set(pool.map(run, folders))) == 1


def submission(task_id: str) -> dict[str, object]:
    configs = [{"agent": "nop", "model": None, "n_trials": 2}]
    return {"task_id": task_id, "user": "somebody", "priority": "low", "configs": configs, "experiment_id": "shown"}


def upload(caller: Caller, folder: TaskFolder) -> str:
    init = {"name": folder.path.name, "content_hash": folder.content_hash}
    target = caller.call("POST", "/tasks/upload/init", TARGET, init)
    caller.put(target, folder.archive)
    completion = {"task_id": target["task_id"], "version": 1, **init}
    return str(caller.call("POST", "/tasks/upload/complete", VERSION, completion)["task_id"])


def archive(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()
