"""A small server that speaks the wire format, for what the command line makes of answers; no trial runs here."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner, Result

from oddish.cli import cli

KEY = "ok_0123456789abcdef0123456789abcdef"
NOW = "2026-01-01T00:00:00Z"

type Invoke = Callable[..., Result]


def _trial(task_id: str, index: int, **changes: object) -> dict[str, Any]:
    trial = {
        "id": f"{task_id}-{index}",
        "name": f"{task_id}-{index}",
        "task_id": task_id,
        "experiment_id": "e0000001",
        "agent": "oracle",
        "model": None,
        "environment": "local",
        "status": "queued",
        "attempts": 0,
        "max_attempts": 6,
        "harbor_stage": None,
        "reward": None,
        "error_message": None,
        "result": None,
        "input_tokens": None,
        "cache_tokens": None,
        "cache_write_tokens": None,
        "output_tokens": None,
        "total_steps": None,
        "cost_usd": None,
        "cost_is_estimated": None,
        "phase_timing": None,
        "superseded_by_trial_id": None,
        "queue_info": None,
        "created_at": NOW,
        "started_at": None,
        "finished_at": None,
    }
    return trial | changes


def _task(task_id: str, experiment_id: str, experiment_name: str) -> dict[str, Any]:
    return {
        "id": task_id,
        "name": task_id.rpartition("-")[0],
        "status": "running",
        "user": "tester",
        "experiment_id": experiment_id,
        "experiment_name": experiment_name,
        "experiments": [{"id": experiment_id, "name": experiment_name}],
        "current_version": 1,
        "total": 0,
        "completed": 0,
        "failed": 0,
        "progress": "0/0 completed",
        "reward_success": 0,
        "reward_total": 0,
        "trials": [],
        "created_at": NOW,
    }


@dataclass
class FakeServer:
    """Keeps tasks in memory. ``tick`` is called before each list of tasks, to let time pass for the trials."""

    url: str = ""
    deployment: str = "self-hosted"
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    experiments: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[str, str, Any, dict[str, str]]] = field(default_factory=list)
    uploads: dict[str, bytes] = field(default_factory=dict)
    refusals: dict[tuple[str, str], tuple[int, object]] = field(default_factory=dict)
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    """The stored files of trials, by the id of the trial and the path of the file."""
    versions: tuple[int, int | None] = (1, None)
    """The one that an upload comes to, and the one before it."""
    other_version_trials: int = 0
    shortfall: int | None = None
    """How many trials a submission creates, when the experiment has the others already."""
    tick: Callable[["FakeServer"], None] = lambda server: None
    unretryable: dict[str, str] = field(default_factory=dict)
    """Why trials cannot run again, by their ids."""
    workers: int = 1
    unfinished: dict[str, int] | None = None
    """Trials of all tasks and versions; None: it does not tell."""
    version: str = "9.9.9"
    lock: threading.RLock = field(default_factory=threading.RLock)

    def add_task(
        self, task_id: str, experiment_id: str = "e0000001", experiment_name: str = "calm-fern-0001", **changes: object
    ) -> dict[str, Any]:
        self.experiments[experiment_name] = experiment_id
        self.tasks[task_id] = _task(task_id, experiment_id, experiment_name) | changes
        return self.tasks[task_id]

    def add_trial(self, task: dict[str, Any], **changes: object) -> dict[str, Any]:
        home = {"experiment_id": task["experiment_id"]}
        task["trials"].append(_trial(task["id"], len(task["trials"]), **(home | changes)))
        return task["trials"][-1]

    def trials(self) -> list[dict[str, Any]]:
        return [trial for task in self.tasks.values() for trial in task["trials"]]

    def bodies(self, method: str, path: str) -> list[Any]:
        return [body for called, at, body, _ in self.calls if (called, at) == (method, path)]

    def answer(self, method: str, target: str, body: Any, headers: dict[str, str]) -> tuple[int, object]:
        url = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        with self.lock:
            self.calls.append((method, url.path, body, headers))
            if (method, url.path) in self.refusals:
                return self.refusals[method, url.path]
            if method == "PUT":
                self.uploads[url.path] = body
                return 200, {}
            if headers.get("authorization") != f"Bearer {KEY}" and url.path != "/health":
                return 401, {"detail": "The key is unknown.", "code": "unauthenticated"}
            if method == "DELETE":
                return self._delete(url.path.split("/")[-1])
            if "/qa/" in url.path:
                return 404, {"detail": f"There is no {url.path} here.", "code": "not_found"}
            name = f"{method.lower()}_{re.sub('[^a-z]+', '_', url.path.split('/')[-1])}"
            if method == "GET" and (found := re.fullmatch("/trials/([^/]+)/(files|logs)", url.path)):
                return self._evidence(*found.groups(), query)
            if method == "GET" and url.path.startswith("/experiments/"):
                names = {identity: name for name, identity in self.experiments.items()}
                identity = url.path.rpartition("/")[2]
                known = identity in names
                return (200, {"id": identity, "name": names[identity]}) if known else (404, {"detail": "No."})
            if method == "GET" and (found := re.fullmatch("/(tasks|trials)/(.+)", url.path)):
                return self._one(*found.groups())
            return getattr(self, name)(body, query)

    def _one(self, kind: str, identity: str) -> tuple[int, object]:
        self.tick(self)
        things = list(self.tasks.values()) if kind == "tasks" else self.trials()
        for thing in things:
            if thing["id"] == identity:
                return 200, thing
        return 404, {"detail": f"{identity} is not here.", "code": "not_found"}

    def _evidence(self, trial_id: str, kind: str, query: dict[str, str]) -> tuple[int, object]:
        """One file a page, so that a reader has to go on."""
        if trial_id not in self.files:
            return 404, {"detail": "It has no files yet.", "code": "not_found"}
        files = self.files[trial_id]
        if kind == "logs":
            logs = "\n".join(f"=== {path} ===\n{text}" for path, text in files.items())
            return 200, {"trial_id": trial_id, "logs": logs, "s3_key": None}
        left = [path for path in sorted(files) if path > query.get("cursor", "")]
        page = [{"path": path, "size": len(files[path]), "sha256": "0" * 64} for path in left[:1]]
        return 200, {"trial_id": trial_id, "files": page, "cursor": left[0] if left[1:] else None}

    def get_health(self, body: Any, query: dict[str, str]) -> tuple[int, object]:
        return 200, {"status": "healthy", "database": "connected", "timestamp": NOW} | {
            "version": self.version,
            "deployment": self.deployment,
        }

    def get_agents(self, body: Any, query: dict[str, str]) -> tuple[int, object]:
        needs = {"required": True, "one_of": [["ACME_API_KEY"], ["ACME_TOKEN"]], "also": ["ACME_BASE_URL"]}
        return 200, {
            "agents": [{"name": query["agent"], "needs_model": True, "credentials": needs}],
            "offered": [],
        }

    def get_load(self, body: Any, query: dict[str, str]) -> tuple[int, object]:
        load: dict[str, Any] = {"workers": {"alive": self.workers}}
        return 200, load if self.unfinished is None else load | {"totals": self.unfinished}

    def get_tasks(self, body: Any, query: dict[str, str]) -> tuple[int, object]:
        self.tick(self)
        wanted = query.get("experiment_id")
        wanted = self.experiments.get(wanted or "", wanted)
        tasks = [task for task in self.tasks.values() if wanted is None or task["experiment_id"] == wanted]
        offset = int(query["offset"])
        return 200, tasks[offset : offset + int(query["limit"])]

    def post_init(self, body: Any, query: dict[str, str]) -> tuple[int, object]:
        task_id = f"{body['name']}-{len(body['name']):08x}"
        return 200, self._version(task_id, body) | {
            "upload_url": f"{self.url}/blob/{task_id}",
            "upload_method": "PUT",
            "upload_headers": {"Content-Type": "application/gzip"},
            "requires_completion": True,
        }

    def post_complete(self, body: Any, query: dict[str, str]) -> tuple[int, object]:
        return 200, self._version(body["task_id"], body)

    def _version(self, task_id: str, body: Any) -> dict[str, Any]:
        return {
            "task_id": task_id,
            "name": body["name"],
            "version": self.versions[0],
            "version_id": f"{task_id}-v{self.versions[0]}",
            "previous_version": self.versions[1],
            "existing_task": self.versions[1] is not None,
            "content_unchanged": False,
            "content_hash": body["content_hash"],
        }

    def post_sweep(self, body: Any, query: dict[str, str]) -> tuple[int, object]:
        """Refuses what ``refusals`` names by the id of its task, but for trouble that passes."""
        refusal: tuple[int, object] | None = self.refusals.get(("SWEEP", body["task_id"]))
        if refusal is not None and refusal[0] < 500:
            return refusal
        experiment_id = self.experiments.setdefault(body["experiment_id"], f"e{len(self.experiments) + 1:07}")
        task_id = body["task_id"]
        task = self.tasks.setdefault(task_id, _task(task_id, experiment_id, body["experiment_id"]))
        created = []
        for config in body["configs"]:
            for _ in range(config["n_trials"] if self.shortfall is None else self.shortfall):
                trial = _trial(
                    task_id,
                    len(task["trials"]),
                    agent=config["agent"],
                    model=config["model"],
                    experiment_id=experiment_id,
                )
                task["trials"].append(trial)
                created.append(trial["id"])
        return 200, {
            "id": task_id,
            "name": task["name"],
            "status": "pending",
            "trials_count": len(created),
            "providers": {},
            "experiment_id": experiment_id,
            "experiment_name": body["experiment_id"],
            "new_trial_ids": created,
            "other_version_trials": self.other_version_trials,
        }

    def post_batch(self, body: Any, query: dict[str, str]) -> tuple[int, object]:
        """Refuses what ``refusals`` names by the id of its task."""
        results: list[dict[str, Any]] = []
        for index, submission in enumerate(body["submissions"]):
            status, said = self.refusals.get(("SWEEP", submission["task_id"])) or self.post_sweep(submission, query)
            key = "task" if status == 200 else "error"
            results.append({"index": index, "success": status == 200, "status_code": status, key: said})
        succeeded = sum(result["success"] for result in results)
        total = {"total": len(results), "succeeded": succeeded, "failed": len(results) - succeeded}
        return (200 if succeeded == len(results) else 207), total | {"results": results}

    def post_retry(self, body: Any, query: dict[str, str]) -> tuple[int, object]:
        problem = {"type": "about:blank", "title": "Conflict", "status": 409, "code": "lost_race"}
        refused = [name for name in body["trial_ids"] if name in self.unretryable]
        retried = [name for name in body["trial_ids"] if name not in self.unretryable]
        return 200, {
            "retried": [
                {
                    "trial_id": name,
                    "new_trial_id": f"{name}-again",
                    "task_id": name.rpartition("-")[0],
                    "experiment_id": "e0000001",
                    "status": "queued",
                }
                for name in retried
            ],
            "refused": [{"trial_id": name, "error": problem | {"detail": self.unretryable[name]}} for name in refused],
            "queued": len(retried),
            "skipped": 0,
            "failed": len(refused),
        }

    def _delete(self, name: str) -> tuple[int, object]:
        known = {*self.tasks, *self.experiments, *(trial["id"] for trial in self.trials())}
        if name not in known:
            return 404, {"detail": f"{name} is not here.", "code": "not_found"}
        return 200, {"message": f"Deleted {name}.", "deleted": name, "trials_deleted": 1, "trials_cancelled": 0}

    def post_cancel(self, body: Any, query: dict[str, str]) -> tuple[int, object]:
        wanted = self.experiments.get(body.get("experiment_id", ""), body.get("experiment_id"))
        cancelled = 0
        for trial in self.trials():
            meant = (
                trial["task_id"] in body["task_ids"]
                or trial["id"] in body.get("trial_ids", ())
                or trial["experiment_id"] == wanted
            )
            if meant and trial["status"] in ("queued", "running"):
                trial.update(status="failed", harbor_stage="cancelled", error_message="Cancelled by user")
                cancelled += 1
        return 200, {
            "status": "cancelled",
            "task_ids": body["task_ids"],
            "not_found_task_ids": [],
            "tasks_found": 1,
            "tasks_cancelled": 1,
            "trials_cancelled": cancelled,
        }


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    fake = FakeServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            body = raw if self.command == "PUT" else json.loads(raw or b"null")
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, document = fake.answer(self.command, self.path, body, headers)
            encoded = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        do_GET = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Tests print nothing."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    fake.url = f"http://127.0.0.1:{httpd.server_address[1]}"
    monkeypatch.setenv("ODDISH_API_URL", fake.url)
    monkeypatch.setenv("ODDISH_API_KEY", KEY)
    yield fake
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture
def invoke() -> Invoke:
    def call(*arguments: str | Path, input: str | None = None) -> Result:  # noqa: A002
        return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=input)

    return call


@pytest.fixture
def make_task_dir(tmp_path: Path) -> Callable[..., Path]:
    """Writes the smallest valid task, ``changes`` being file contents by path, None to leave one out."""

    def make(name: str = "greet", parent: Path = tmp_path, **changes: str | None) -> Path:
        files: dict[str, str | None] = {
            "task.toml": 'schema_version = "1.4"\n[agent]\ntimeout_sec = 60.0\n',
            "instruction.md": "Say hello.\n",
            "environment/Dockerfile": "FROM debian:bookworm-slim\n",
            "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
        }
        for path, content in (files | changes).items():
            if content is not None:
                (parent / name / path).parent.mkdir(parents=True, exist_ok=True)
                (parent / name / path).write_text(content)
        return parent / name

    return make
