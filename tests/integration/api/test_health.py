"""Whether the server lives, is ready, and what it counts, over HTTP."""

from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from cryptography.fernet import Fernet
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from oddish.db import migration
from oddish.db.revision import HEAD
from oddish.settings import Settings
from support.migrations import NEXT, release

from .serving import Server, TaskFolder

type Start = Callable[[Settings], Server]


def series(text: str) -> dict[tuple[str, ...], float]:
    """By name and the values of its labels, in the order of their names."""
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_server_that_has_what_it_needs_is_ready(server: Server) -> None:
    nobody = server.client(None)
    assert nobody.get("/health/live").json() == {"status": "alive"}
    answer = nobody.get("/health/ready")
    assert answer.status_code == 200
    report = answer.json()
    assert report["status"] == "ready"
    assert report["dependencies"]["database"] == {"ok": True, "detail": f"has revision {HEAD}"}
    assert set(report["dependencies"]) == {"database", "store", "disk"}


def test_a_server_whose_schema_is_gone_lives_and_is_not_ready(server: Server) -> None:
    nobody = server.client(None)
    server.sql("ALTER TABLE alembic_version RENAME TO gone")
    assert nobody.get("/health/live").status_code == 200
    answer = nobody.get("/health/ready")
    assert answer.status_code == 503
    assert answer.json()["status"] == "unready"
    assert answer.json()["dependencies"]["database"]["detail"] == f"has revision none; this release needs {HEAD}"


@pytest.mark.parametrize(
    ("statement", "contracts", "status"),
    [("ALTER TABLE jobs ADD COLUMN colour text", False, 200), ("ALTER TABLE workers DROP COLUMN version", True, 503)],
)
def test_a_running_server_stays_ready_while_the_schema_only_grows(
    server: Server, client: httpx2.Client, tmp_path: Path, statement: str, contracts: bool, status: int
) -> None:
    migrations = release(tmp_path, statement, contracts=contracts)
    migration.upgrade(server.services.settings.database_url, migrations=migrations)
    assert client.get("/tasks").status_code == 200
    answer = client.get("/health/ready")
    assert answer.status_code == status
    assert f"revision {NEXT}" in answer.json()["dependencies"]["database"]["detail"]


def test_a_server_says_when_its_store_is_gone_and_not_where_it_was(
    start: Start, settings: Settings, tmp_path: Path
) -> None:
    directory = tmp_path / "store"
    server = start(settings.model_copy(update={"storage_url": directory.as_uri()}))
    directory.rename(tmp_path / "elsewhere")
    answer = server.client(None).get("/health/ready")
    assert answer.status_code == 503
    assert answer.json()["dependencies"]["store"] == {"ok": False, "detail": "storage_unavailable"}
    assert answer.json()["dependencies"]["disk"]["detail"] == "the directory of the object store cannot be used"
    assert str(tmp_path) not in answer.text


def test_a_server_with_a_secret_key_and_a_store_elsewhere_is_ready_without_a_state_directory(
    start: Start, settings: Settings, tmp_path: Path
) -> None:
    away, key = tmp_path / "new", SecretStr(Fernet.generate_key().decode())
    own = {"home": away / "home", "storage_url": (away / "store").as_uri(), "secret_key": key}
    answer = start(settings.model_copy(update=own)).client(None).get("/health/ready")
    assert answer.status_code == 200
    assert answer.json()["dependencies"]["disk"]["ok"]
    assert [path.name for path in away.iterdir()] == ["store"]


def test_a_server_that_is_about_to_end_is_not_ready_and_still_works(server: Server, client: httpx2.Client) -> None:
    server.services.readiness.drain()
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()["status"]) == (503, "draining")
    assert client.get("/tasks").status_code == 200


def test_metrics_need_a_full_key_unless_they_are_opened(start: Start, settings: Settings) -> None:
    closed = start(settings)
    assert closed.client(None).get("/metrics").status_code == 401
    assert closed.client(closed.key("a", scope="tasks")).get("/metrics").status_code == 403
    opened = start(settings.model_copy(update={"metrics_public": True}))
    assert opened.client(None).get("/metrics").status_code == 200
    assert opened.client(None).get("/load").status_code == 401


def test_metrics_show_what_waits_by_queue_key(
    server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]
) -> None:
    server.offer()
    task_id = str(new_task().upload(client)["task_id"])
    model = {"agent": "claude-code", "model": "anthropic/claude-sonnet-4-5", "n_trials": 2}
    client.post("/tasks/sweep", json={"task_id": task_id, "configs": [{"agent": "nop", "n_trials": 3}, model]})
    server.sql("UPDATE jobs SET ready_at = now() - interval '1 hour' WHERE key = 'nop_oracle'")
    server.sql("UPDATE jobs SET state = 'scheduled', run_at = now() WHERE subject_id = %s", f"{task_id}-0")
    found = series(client.get("/metrics").text)
    assert found["oddish_database_up",] == 1
    assert found["oddish_queue_jobs", "nop_oracle", "ready"] == 2
    assert found["oddish_queue_jobs", "nop_oracle", "scheduled"] == 1
    assert found["oddish_queue_jobs", "anthropic/claude-sonnet-4-5", "ready"] == 2
    assert found["oddish_queue_oldest_ready_seconds", "nop_oracle"] == pytest.approx(3600, abs=60)
    assert found["oddish_queue_limit", "key", "anthropic/claude-sonnet-4-5"] == 8
    assert found["oddish_queue_running", "key", "nop_oracle"] == 0
    assert found["oddish_workers",] == 1


def test_metrics_count_requests_by_route_and_never_by_id(server: Server, client: httpx2.Client) -> None:
    def counted(route: str, status: int, method: str = "GET") -> float:
        return series(client.get("/metrics").text).get(("oddish_http_requests_total", method, route, str(status)), 0.0)

    before = counted("/trials/{trial_id}", 404), counted("(none)", 404), counted("/tasks", 200, "HEAD")
    client.get("/trials/a-1")
    client.get("/trials/b-2")
    client.get("/nothing/here")
    client.head("/tasks")
    after = counted("/trials/{trial_id}", 404), counted("(none)", 404), counted("/tasks", 200, "HEAD")
    assert [now - then for now, then in zip(after, before, strict=True)] == [2, 1, 1]
    text = client.get("/metrics").text
    assert "a-1" not in text
    assert "oddish_http_request_seconds_bucket" in text


def test_metrics_are_answered_while_the_database_is_away(start: Start, settings: Settings) -> None:
    server = start(settings.model_copy(update={"metrics_public": True}))
    server.sql("ALTER TABLE queue_keys RENAME TO gone")
    answer = server.client(None).get("/metrics")
    assert answer.status_code == 200
    found = series(answer.text)
    assert found["oddish_database_up",] == 0
    assert not any(name.startswith("oddish_queue") for name, *_ in found)


@pytest.mark.parametrize("brought", ["run-7:a.b", "0af7651916cd43dd8448eb211c80319c"])
def test_a_request_keeps_the_correlation_id_that_it_brings(client: httpx2.Client, brought: str) -> None:
    assert client.get("/tasks", headers={"X-Correlation-Id": brought}).headers["x-correlation-id"] == brought


def test_a_refused_request_has_a_correlation_id_too(server: Server) -> None:
    answers = [server.client(None).get("/tasks"), server.client(None).get("/tasks")]
    ids = {answer.headers["x-correlation-id"] for answer in answers}
    assert len(ids) == 2
    assert all(len(found) == 32 for found in ids)
