"""Some of everything that routes speak of, and the values by which requests name it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx2

from support import results

from .serving import RESULT, Server, TaskFolder

NAME = "hello"
"""Of the task and of the secret."""
README = "README.md"
"""A file of the task and one of the trial."""
FILES = {RESULT: b'{"ok": true}', "agent/log.txt": b"did it", "big.log": b"x" * 300_000, README: b"of the trial"}
EXTERNAL = "0198"
SHELF = "results"
"""The results directory that pages show."""
HOSTED = {
    "task_slug": "hosted",
    "metadata": {"task_archive_url": "http://127.0.0.1:9/hosted.zip"},
    "agents": [{"name": "a", "harbor_agent": "nop"}],
}
IMPORT = {"trial": {"agent": "nop", "status": "success", "reward": 0.0, "external_trial_id": EXTERNAL}}


@dataclass(frozen=True)
class Furnished:
    """A task with two versions, a finished trial that left files, others that wait, one that was imported, a published
    experiment, a job of the gateway that the finished trial is of, a spare key, a secret, a results directory, and an
    export of the same dataset.
    """

    names: Mapping[str, str]
    """By path parameter, or member of a body."""

    def path(self, template: str) -> str:
        return template.replace(":path}", "}").format(**self.names)


def furnish(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> Furnished:
    server.offer()
    folder = new_task(NAME, instruction="First.")
    (folder.path / README).write_text("of the task")
    folder.upload(client)
    done = new_task(NAME, instruction="Second.").upload(client)
    task_id = str(done["task_id"])
    body = {"task_id": task_id, "configs": [{"agent": "nop", "n_trials": 5}], "experiment_id": "mine"}
    submitted = client.post("/tasks/sweep", json=body)
    assert submitted.status_code == 200, submitted.text
    trial_id = f"{task_id}-0"
    published = client.post("/experiments/mine/publish")
    assert published.status_code == 200, published.text
    server.leave_files(trial_id, FILES)
    server.key("c0")
    assert client.put(f"/secrets/{NAME}", json={"value": "a value to keep"}).status_code == 200
    server.sql("UPDATE jobs SET state = 'done', finished_at = now() WHERE subject_id = %s", trial_id)
    imported = client.post("/trials/import/init", json=IMPORT | {"task_id": task_id, "experiment_id": "mine"})
    assert imported.status_code == 200, imported.text
    imported_id = imported.json()["trial_id"]
    server.sql("UPDATE attempts SET artifact_prefix = 'nowhere', artifact_files = 0 WHERE trial_id = %s", imported_id)
    asked = client.post("/sandbox/harbor/v2/jobs/execute-tasks", json=HOSTED)
    assert asked.status_code == 202, asked.text
    job_id = asked.json()["job_id"]
    server.sql("UPDATE jobs SET state = 'done', finished_at = now() WHERE subject_id = %s", job_id)
    server.sql("UPDATE trials SET gateway_job_id = %s, gateway_agent = 'a' WHERE id = %s", job_id, trial_id)
    server.sql("SELECT end_gateway_job(%s, 'failed', NULL)", job_id)
    exported = client.put("/viewer/exports/data-agent/eval-v1", content=results.packed())
    assert exported.status_code == 200, exported.text
    results.example(server.services.settings.viewer_directories[SHELF])
    return Furnished(
        {
            "task_id": task_id,
            "trial_id": trial_id,
            "experiment_id": submitted.json()["experiment_id"],
            "token": published.json()["public_token"],
            "index": "0",
            "version": "1",
            "path": README,
            "key": f"trials/{trial_id}/1-claim/{RESULT}",
            "content_hash": str(done["content_hash"]),
            "imported_trial_id": imported_id,
            "job_id": job_id,
            "external_trial_id": EXTERNAL,
            "name": NAME,
            "directory": SHELF,
            "project": "data-agent",
            "dataset": "eval-v1",
            "trace": results.TRACE,
            "run": "rl-1",
            "agent": "nop",
            "key_id": "key-c0",
            "user": str(server.sql("SELECT name FROM users ORDER BY created_at LIMIT 1")[0][0]),
        }
    )
