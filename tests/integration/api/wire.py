"""What clients of the wire format rely on: the fields of each answer with their types, and calls that check them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

import httpx2

type Kinds = type | tuple[type, ...]
type Shape = Kinds | Mapping[str, "Shape"] | list["Shape"]

MAYBE_TEXT = (str, NoneType)
NUMBER = (int, float)
MAYBE_NUMBER = (int, float, NoneType)
MAYBE_OBJECT = (dict, NoneType)

VERSION: Mapping[str, Shape] = {
    "task_id": str,
    "name": str,
    "version": int,
    "version_id": str,
    "existing_task": bool,
    "content_unchanged": bool,
    "content_hash": str,
}
TARGET: Mapping[str, Shape] = {
    **VERSION,
    "upload_url": MAYBE_TEXT,
    "upload_method": str,
    "upload_headers": dict,
    "requires_completion": bool,
}
SUBMITTED: Mapping[str, Shape] = {
    "id": str,
    "name": str,
    "status": str,
    "priority": str,
    "trials_count": int,
    "providers": dict,
    "experiment_id": str,
    "experiment_name": str,
    "created_at": str,
    "new_trial_ids": [str],
}
TRIAL: Mapping[str, Shape] = {
    "id": str,
    "name": str,
    "task_id": str,
    "experiment_id": str,
    "agent": str,
    "provider": str,
    "queue_key": str,
    "model": MAYBE_TEXT,
    "environment": str,
    "status": str,
    "origin": str,
    "attempts": int,
    "max_attempts": int,
    "harbor_stage": MAYBE_TEXT,
    "reward": MAYBE_NUMBER,
    "error_message": MAYBE_TEXT,
    "result": MAYBE_OBJECT,
    "is_probe": bool,
    "phase_timing": MAYBE_OBJECT,
    "has_trajectory": bool,
    "analysis_status": MAYBE_TEXT,
    "superseded_by_trial_id": MAYBE_TEXT,
    "created_at": str,
    "started_at": MAYBE_TEXT,
    "finished_at": MAYBE_TEXT,
}
TASK: Mapping[str, Shape] = {
    "id": str,
    "name": str,
    "status": str,
    "progress": str,
    "experiment_id": MAYBE_TEXT,
    "experiment_name": MAYBE_TEXT,
    "current_version": int,
    "total": int,
    "completed": int,
    "failed": int,
    "skipped": int,
    "reward_success": int,
    "reward_sum": NUMBER,
    "reward_total": int,
    "verdict_status": MAYBE_TEXT,
    "created_at": str,
    "trials": [TRIAL],
}
LOGS: Mapping[str, Shape] = {"trial_id": str, "logs": str}
STRUCTURED: Mapping[str, Shape] = {
    "trial_id": str,
    "agent": {"oracle": MAYBE_TEXT, "setup": MAYBE_TEXT, "commands": [{"name": str, "content": str}]},
    "verifier": {"stdout": MAYBE_TEXT, "stderr": MAYBE_TEXT},
    "other": list,
    "exception": MAYBE_TEXT,
}
FILES: Mapping[str, Shape] = {"files": [{"path": str, "size": int}]}
SIGNED_FILES: Mapping[str, Shape] = {
    "archive_url": MAYBE_TEXT,
    "files": [{"path": str, "size": int, "url": str}],
}
"""All in one archive, or one by one."""
CANCELLED: Mapping[str, Shape] = {
    "status": str,
    "task_ids": [str],
    "not_found_task_ids": [str],
    "tasks_found": int,
    "tasks_cancelled": int,
    "trials_cancelled": int,
    "modal_calls_cancelled": int,
}
DELETED: Mapping[str, Shape] = {"message": str}
SHARE: Mapping[str, Shape] = {"name": str, "is_public": bool, "public_token": MAYBE_TEXT, "description": MAYBE_TEXT}
TASK_VERSION: Mapping[str, Shape] = {
    "id": str,
    "task_id": str,
    "version": int,
    "task_path": str,
    "task_s3_key": str,
    "content_hash": str,
    "message": MAYBE_TEXT,
    "created_at": str,
}
BATCH: Mapping[str, Shape] = {
    "total": int,
    "succeeded": int,
    "failed": int,
    "results": [{"index": int, "success": bool, "status_code": int, "task": SUBMITTED}],
}
BROWSED: Mapping[str, Shape] = {
    "items": [
        {
            "id": str,
            "name": str,
            "current_version": int,
            "current_version_id": str,
            "version_count": int,
            "total_trials": int,
            "completed_trials": int,
            "failed_trials": int,
            "reward_success": int,
            "reward_sum": NUMBER,
            "reward_total": int,
            "last_run_at": MAYBE_TEXT,
            "link": MAYBE_TEXT,
            "cost_usd": MAYBE_NUMBER,
            "latest_trials": [{"id": str, "name": str, "status": str, "reward": MAYBE_NUMBER, "agent": str}],
            "experiments": [{"id": str, "name": str}],
            "user_tags": dict,
        }
    ],
    "limit": int,
    "offset": int,
    "has_more": bool,
}
DETAIL: Mapping[str, Shape] = {
    "task": {**TASK, "trials": (list, NoneType)},
    "versions": [
        {
            "id": str,
            "version": int,
            "message": MAYBE_TEXT,
            "created_at": str,
            "is_current": bool,
            "trial_count": int,
            "completed_count": int,
            "failed_count": int,
            "skipped_count": int,
            "pass_count": int,
            "partial_count": int,
            "fail_count": int,
            "pending_count": int,
            "reward_sum": NUMBER,
            "reward_total": int,
            "cost_usd": MAYBE_NUMBER,
            "last_run_at": MAYBE_TEXT,
        }
    ],
    "totals": {"cost_usd": MAYBE_NUMBER, "total_trials": int},
}
IMPORT_TARGET: Mapping[str, Shape] = {
    "trial_id": str,
    "task_id": str,
    "experiment_id": str,
    "experiment_name": str,
    "upload_url": MAYBE_TEXT,
    "upload_method": str,
    "upload_headers": dict,
    "requires_completion": bool,
}
IMPORTED: Mapping[str, Shape] = {"trial_id": str, "trial_s3_key": str, "files_extracted": int}
ADMIN_READS: Mapping[str, Mapping[str, Shape]] = {
    "/admin/slots": {
        "queue_keys": [{"queue_key": str, "total_slots": int, "active_slots": int, "slots": list}],
        "total_slots": int,
        "total_active": int,
        "timestamp": str,
    },
    "/admin/queue-status": {
        "queues": [{"kind": str, "queue_key": str, "queued": int, "running": int}],
        "trial_queues": list,
        "analysis_queued": int,
        "analysis_running": int,
        "verdict_queued": int,
        "verdict_running": int,
        "timestamp": str,
    },
    "/admin/orphaned-state?stale_after_minutes=15": {
        "counts": {
            "running_stale_heartbeat": int,
            "active_tasks_without_active_trials": int,
            "retrying_without_worker": int,
        },
        "trial_samples": list,
        "task_samples": list,
        "stale_after_minutes": int,
        "timestamp": str,
    },
    "/admin/queue-health": {
        "totals_queued": int,
        "totals_running": int,
        "throughput": [{"kind": str, "started_5m": int, "finished_60m": int}],
        "capacity": [{"queue_key": str, "queued": int, "running": int, "limit": int, "fill": NUMBER}],
        "dispatcher": MAYBE_OBJECT,
        "reconciler": MAYBE_OBJECT,
        "timestamp": str,
    },
    "/admin/worker-jobs?stale_after_minutes=15": {
        "counts": dict,
        "stale_running": list,
        "recent_failures": list,
        "durations_last_hour": list,
    },
}


def flaws(value: object, shape: Shape, where: str = "") -> Iterator[str]:
    """Where a value lacks what a shape names. It may have more."""
    if isinstance(shape, Mapping):
        if not isinstance(value, dict):
            yield f"{where or 'the answer'} is {value!r}, no object"
            return
        for name, inner in shape.items():
            if name in value:
                yield from flaws(value[name], inner, f"{where}.{name}".lstrip("."))
            else:
                yield f"{where}.{name}".lstrip(".") + " is missing"
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{where or 'the answer'} is {value!r}, no list"
            return
        for index, entry in enumerate(value):
            yield from flaws(entry, shape[0], f"{where}[{index}]")
    elif not isinstance(value, shape) or (isinstance(value, bool) and shape is int):
        yield f"{where} is {value!r}"


def fields(shape: Shape) -> str:
    """The names of a shape, as short as they can be read."""
    if isinstance(shape, Mapping):
        return " ".join(name + _inner(inner) for name, inner in shape.items())
    return fields(shape[0]) if isinstance(shape, list) else ""


def _inner(shape: Shape) -> str:
    if isinstance(shape, list):
        return f"[{fields(shape)}]"
    return f"{{{fields(shape)}}}" if isinstance(shape, Mapping) else ""


@dataclass
class Caller:
    """Makes calls as a plain HTTP client does. Every one is a line of ``lines``."""

    url: str
    key: str
    lines: list[str] = field(default_factory=list)

    def call(
        self, method: str, path: str, shape: Shape | None = None, body: object = None, *, status: int = 200
    ) -> Any:
        """The JSON of an answer with just this status, and all fields of a shape."""
        answer = httpx2.request(method, self.url + path, headers=self._authorization, json=body, timeout=30)
        self._note(method, path, answer, "" if shape is None else fields(shape) or "an object")
        assert answer.status_code == status, answer.text
        document = answer.json()
        assert shape is None or not (found := list(flaws(document, shape))), found
        return document

    def read(self, path: str) -> bytes:
        answer = httpx2.request("GET", self.url + path, headers=self._authorization)
        self._note("GET", path, answer, f"{len(answer.content)} bytes")
        assert answer.status_code == 200, answer.text
        return answer.content

    def put(self, target: Mapping[str, Any], content: bytes) -> None:
        """To the URL of a target with its headers, and without the key."""
        answer = httpx2.put(target["upload_url"], content=content, headers=target["upload_headers"])
        sent = answer.request.headers
        assert "authorization" not in sent
        assert all(sent[name] == value for name, value in target["upload_headers"].items())
        self._note("PUT", "upload-url", answer, f"no key; {' '.join(target['upload_headers'])} as given")
        assert answer.status_code == 200, answer.text

    def fetch(self, url: str) -> bytes:
        """What a signed URL leads to, without the key."""
        answer = httpx2.get(httpx2.URL(f"{self.url}/").join(url))
        self._note("GET", "signed-url", answer, f"no key; {len(answer.content)} bytes")
        assert answer.status_code == 200, answer.text
        return answer.content

    def skip(self, method: str, path: str, reason: str) -> None:
        self.lines.append(f"{method:<6} {path:<58}   -  {reason}")

    @property
    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def _note(self, method: str, path: str, answer: httpx2.Response, checked: str) -> None:
        self.lines.append(f"{method:<6} {path:<58} {answer.status_code}  {checked}".rstrip())
