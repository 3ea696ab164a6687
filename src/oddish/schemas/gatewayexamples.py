"""Answers of the job gateway as its description shows them."""

from typing import Any

JOB = "gw_527fb77b40cf2e1e"
CHILD = "gw_959da68c0215cefa"
ACCEPTED: dict[str, Any] = {"job_id": JOB, "status": "queued"}
REFILLED: dict[str, Any] = {
    "job_id": CHILD,
    "status": "queued",
    "retry_of": JOB,
    "pass_at_k": 3,
    "retried_exceptions": ["TerminusNoProgressError"],
}
OUTCOME: dict[str, Any] = {
    "status": "errored",
    "valid_for_scoring": False,
    "reasons": [
        "codex: 1 of 1 trial raised (AgentTimeoutError); what a rollout earned before it broke off is no score",
        "codex: the test report of 1 of 1 trial accounts for no test; a verifier that checks nothing cannot pass "
        "anything",
    ],
    "trials": {"scored": 1, "errored": 1, "successful": 0},
    "exceptions": ["AgentTimeoutError"],
    "verifier": {"evidence": "empty", "tests": 0},
    "environment_notes": [],
}
AGENT: dict[str, Any] = {"name": "codex", "harbor_agent": "codex", "model": "openai/gpt-5"}
DOCUMENT: dict[str, Any] = {
    "job_id": JOB,
    "kind": "execute",
    "status": "failed",
    "task_slug": "my-task",
    "metadata": {"task_archive_url": "https://storage.example/tasks/my-task.zip"},
    "agents": [AGENT],
    "pass_at_k": 1,
    "require_verifier_evidence": True,
    "correlation_id": "my-eval-run-42",
    "experiment_id": "6cf56302",
    "task_version_id": "my-task-ef86b826-v1",
    "retry_of": None,
    "retried_exceptions": None,
    "created_at": "2026-01-02T10:00:00Z",
    "started_at": "2026-01-02T10:00:01Z",
    "finished_at": "2026-01-02T10:15:03Z",
    "error": None,
    "trials": {"total": 1, "queued": 0, "running": 0, "finished": 1},
    "outcome": OUTCOME,
    "result": {
        "outcome": OUTCOME,
        "agent_results": [
            {
                **AGENT,
                "trial_id": "my-task-ef86b826-0",
                "trial_name": "my-task-ef86b826-0.1-40a8bf65",
                "status": "errored",
                "reward": 1.0,
                "environment_notes": [],
                "result": {
                    "trial_name": "my-task-ef86b826-0.1-40a8bf65",
                    "verifier_result": {"rewards": {"reward": 1.0}},
                    "exception_info": {"exception_type": "AgentTimeoutError"},
                },
            }
        ],
    },
}
ARCHIVE: dict[str, Any] = {
    "url": f"https://oddish.example/store/gateway/{JOB}/artifacts/7b8e8bdb/5324.zip?expires=1767352503&signature=d7PV",
    "expires_at": "2026-01-02T11:15:03Z",
    "size": 5324,
    "sha256": "ea05eca8040ea4d48b8e659875f3544d053e32d5f6a4126e1e6ed430256784a8",
}
EVENTS = f"""\
id: 1
event: job.queued
data: {{"job_id": "{JOB}", "status": "queued"}}

id: 2
event: trial.started
data: {{"job_id": "{JOB}", "trial_id": "my-task-ef86b826-0", "agent": "codex", "attempt": 1}}

id: 3
event: trial.phase
data: {{"job_id": "{JOB}", "trial_id": "my-task-ef86b826-0", "agent": "codex", "phase": "agent_running"}}

id: 4
event: trial.finished
data: {{"job_id": "{JOB}", "trial_id": "my-task-ef86b826-0", "agent": "codex", "status": "success", "reward": 1, \
"outcome": {{"status": "scored", "valid_for_scoring": true, "exceptions": []}}}}

id: 5
event: job.finished
data: {{"job_id": "{JOB}", "status": "succeeded", "error": null, "exit_codes": null, \
"outcome": {{"status": "scored", "valid_for_scoring": true, "exceptions": []}}}}
"""
