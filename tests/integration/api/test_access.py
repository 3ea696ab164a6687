"""Who may do what, from where, and what strangers learn: nothing."""

import itertools
from collections.abc import Callable

import httpx2
import psycopg
import pytest
from psycopg import sql
from structlog.testing import capture_logs

from oddish.api.scopes import ACCESS
from oddish.api.sites import VIEWER_PATHS
from oddish.db.url import plain
from oddish.settings import Settings
from support import results

from .furnishing import HOSTED
from .serving import KEY, RESULT, Postgres, Server, TaskFolder

type NewTask = Callable[..., TaskFolder]


@pytest.fixture
def own(server: Server, client: httpx2.Client, new_task: NewTask) -> dict[str, str]:
    """Objects of the default organisation, by the name of their path parameter."""
    server.offer()
    task = str(new_task().upload(client)["task_id"])
    body = {"task_id": task, "configs": [{"agent": "nop"}], "experiment_id": "mine"}
    experiment = client.post("/tasks/sweep", json=body).json()["experiment_id"]
    files = {RESULT: b'{"ok": true}', "agent/log.txt": b"did it", "big.log": b"x" * 300_000, "task.toml": b""}
    server.leave_files(f"{task}-0", files)
    job = str(client.post("/sandbox/harbor/v2/jobs/execute-tasks", json=HOSTED).json()["job_id"])
    server.sql("UPDATE trials SET gateway_job_id = %s, gateway_agent = 'a' WHERE task_id = %s", job, task)
    server.sql("SELECT end_gateway_job(%s, 'failed', NULL)", job)
    assert client.put("/viewer/exports/data-agent/eval-v1", content=results.packed()).status_code == 200
    return {
        "project": "data-agent",
        "dataset": "eval-v1",
        "trace": results.TRACE,
        "task_id": task,
        "job_id": job,
        "trial_id": f"{task}-0",
        "experiment_id": experiment,
        "index": "0",
        "version": "1",
        "path": "task.toml",
        "user": str(server.sql("SELECT name FROM users ORDER BY created_at LIMIT 1")[0][0]),
    }


def test_objects_of_others_do_not_exist(server: Server, client: httpx2.Client, own: dict[str, str]) -> None:
    stranger = server.client(server.key("a", org="other"))
    reads = [path for (method, path), needs in ACCESS.items() if method == "GET" and "{" in path and needs is not None]
    reads = [path for path in reads if path not in VIEWER_PATHS]  # which are the deployment's
    assert len(reads) >= 7
    sides, json = {"left": results.TRACE, "right": results.TRACE}, {"Accept": "application/json"}
    for template in reads:
        path = template.replace(":path}", "}").format(**own)
        params = sides if path.endswith("/compare") else None
        assert client.get(path, params=params).status_code == 200, path
        answer = stranger.get(path, params=params, headers=json)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
    assert stranger.get("/tasks").json() == []
    assert stranger.get("/tasks", params={"experiment_id": own["experiment_id"]}).json() == []
    body = {"task_id": own["task_id"], "configs": [{"agent": "nop"}]}
    assert stranger.post("/tasks/sweep", json=body).status_code == 404
    completion = {"task_id": own["task_id"], "content_hash": "h"}
    assert stranger.post("/tasks/upload/complete", json=completion).status_code == 404
    for named in (
        {"task_ids": [own["task_id"]]},
        {"trial_ids": [own["trial_id"]]},
        {"experiment_id": own["experiment_id"]},
    ):
        assert stranger.post("/tasks/cancel", json=named).status_code == 404
    assert client.get(f"/trials/{own['trial_id']}").json()["status"] == "queued"


def test_names_belong_to_an_organisation(server: Server, client: httpx2.Client, new_task: NewTask) -> None:
    stranger = server.client(server.key("a", org="other"))
    mine, theirs = new_task().upload(client), new_task().upload(stranger)
    assert mine["task_id"] != theirs["task_id"]
    assert theirs["existing_task"] is False


def test_keys_of_every_kind(server: Server) -> None:
    assert server.client("ok_" + "f" * 32).get("/tasks").status_code == 401
    assert server.client("nonsense").get("/tasks").json()["code"] == "unauthenticated"
    expired = server.client(server.key("b", expires="-1 second")).get("/tasks")
    assert expired.status_code == 401
    assert "expired" in expired.json()["detail"]
    key = server.key("c")
    assert server.client(None).get("/tasks", headers={"X-Api-Key": key}).status_code == 200
    server.sql("UPDATE api_keys SET revoked_at = now() WHERE id = 'key-c'")
    assert server.client(key).get("/tasks").status_code == 401


def test_the_use_of_a_key_is_noted_once_a_minute(server: Server, client: httpx2.Client) -> None:
    used = "SELECT last_used_at FROM api_keys WHERE name = 'bootstrap'"
    assert server.sql(used) == [(None,)]
    client.get("/tasks")
    first = server.sql(used)
    assert first != [(None,)]
    client.get("/tasks")
    assert server.sql(used) == first
    server.sql("UPDATE api_keys SET last_used_at = now() - interval '61 seconds' WHERE name = 'bootstrap'")
    client.get("/tasks")
    assert server.sql(used) > first


def test_authentication_is_one_statement(server: Server, client: httpx2.Client) -> None:
    client.get("/tasks")
    with server.counting_statements(authentication=True) as statements:
        assert client.get("/trials/absent").status_code == 404
    assert len([statement for statement in statements if "key_hash" in statement]) == 1


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "169.254.1.1", "", "[", "[::1", "]:1"])
def test_only_names_of_this_machine_are_answered(server: Server, client: httpx2.Client, host: str) -> None:
    answer = client.get("/health", headers={"Host": host})
    assert answer.status_code == 421
    assert answer.json()["code"] == "misdirected"


@pytest.mark.parametrize("host", ["[", "[::1", "a[b]:1"])
def test_a_host_that_is_none_is_refused_wherever_the_server_is_called_from(
    start: Callable[[Settings], Server], settings: Settings, host: str
) -> None:
    client = start(settings.model_copy(update={"host": "0.0.0.0", "deployment": "self-hosted"})).client()  # noqa: S104
    for method, path in (("GET", "/health"), ("POST", "/tasks/cancel"), ("GET", "/absent")):
        answer = client.request(method, path, headers={"Host": host})
        assert (answer.status_code, answer.json()["code"]) == (421, "misdirected")
    assert client.get("/health", headers={"Host": "oddish.example.com:443"}).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8780", "[::1]:8780", "LOCALHOST:1"])
def test_names_of_this_machine(client: httpx2.Client, host: str) -> None:
    assert client.get("/health", headers={"Host": host}).status_code == 200


def test_pages_of_others_cannot_change_anything(server: Server, client: httpx2.Client) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "http://[", "http://[::1", "[", "http://", ""):
        answer = client.post("/tasks/cancel", json={"task_ids": ["t"]}, headers={"Origin": origin})
        assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")
    assert client.get("/tasks", headers={"Origin": "http://evil.example"}).status_code == 200
    assert client.post("/tasks/cancel", json={"task_ids": ["t"]}, headers={"Origin": server.url}).status_code == 404


def test_bodies_are_limited_announced_or_not(client: httpx2.Client) -> None:
    url = "/tasks/cancel"
    headers = {"Content-Type": "application/json"}
    assert client.post(url, content=b" " * 100_001, headers=headers).status_code == 413
    chunked = client.post(url, content=(b" " * 10_000 for _ in range(11)), headers=headers)
    assert (chunked.status_code, chunked.headers["content-type"]) == (413, "application/problem+json")
    assert chunked.json()["code"] == "too_large"


def test_every_answer_has_the_security_headers(client: httpx2.Client) -> None:
    for path in ("/health", "/tasks", "/absent", "/openapi.json"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"


def test_problems_everywhere(client: httpx2.Client) -> None:
    answers = {
        "not_found": client.get("/absent"),
        "method_not_allowed": client.put("/tasks"),
        "validation": client.post("/tasks/cancel", content=b"{", headers={"Content-Type": "application/json"}),
        "invalid_input": client.get("/trials/a%00b"),
    }
    for code, answer in answers.items():
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["code"] == code
        assert problem["status"] == answer.status_code
        assert problem["title"]
        assert problem["detail"]


def test_what_a_stranger_sends_is_cut_in_the_log_and_in_the_answer(server: Server) -> None:
    long, cut = "x" * 60_000, "x" * 999 + "..."
    with capture_logs() as lines:
        absent = server.client(None).get(f"/{long}")
        refused = server.client(None).request(long, "/health/live")
    assert absent.json()["detail"] == f"There is no /{cut} here."
    assert refused.json()["detail"] == f"{'x' * 1000}... is not possible on /health/live.".replace("x", "X")
    assert [line["path"] for line in lines if line["event"] == "request"] == [f"/{cut}"]
    for headers in ({"Host": long}, {"Origin": long}):
        answer = server.client(None).post("/tasks/cancel", headers=headers)
        assert len(answer.content) < 2000, headers.keys()


def test_validation_names_the_field_and_the_value(client: httpx2.Client) -> None:
    answer = client.get("/tasks", params={"limit": "7000"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "limit"
    assert "7000" in answer.json()["detail"]


def test_failures_show_an_incident_and_no_traceback(server: Server, client: httpx2.Client) -> None:
    server.sql("ALTER TABLE trials RENAME TO gone")
    answer = client.get("/trials/any-0")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert answer.json()["incident"] in answer.json()["detail"]
    assert "Traceback" not in answer.text
    assert "trials" not in answer.json()["detail"]


def test_a_limit_of_the_database_is_no_outage_and_an_unreadable_row_no_fault_of_the_caller(
    server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]
) -> None:
    task_id = new_task().upload(client)["task_id"]
    server.sql("UPDATE tasks SET created_at = '20000-01-01'")
    unreadable = client.get(f"/tasks/{task_id}")
    assert (unreadable.status_code, unreadable.json()["code"]) == (500, "internal")
    server.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'index row too large' USING ERRCODE = 'program_limit_exceeded'; END $$"
    )
    server.sql("CREATE TRIGGER refuse BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION refuse()")
    too_much = client.post(f"/tasks/{task_id}/tags", json={"add": {"wip": ""}, "remove": []})
    assert (too_much.status_code, too_much.json()["code"]) == (400, "invalid_input")
    assert "more than the database can take" in too_much.json()["detail"]


def test_health_without_a_database(server: Server, postgres: Postgres) -> None:
    assert server.client(None).get("/health").json()["database"] == "connected"
    with psycopg.connect(plain(postgres.maintenance), autocommit=True) as maintenance:
        name = sql.Identifier(server.services.engine.url.database or "")
        maintenance.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        maintenance.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'oddish-api'"
        )
        answers = [server.client(None).get("/health") for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[-1].json()["status"] == "degraded"
        tasks = server.client().get("/tasks")
        assert (tasks.status_code, tasks.json()["code"]) == (503, "database_unavailable")
        maintenance.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))
    assert server.client().get("/tasks").status_code == 200


def test_local_mode_notes_activity(start: Callable[[Settings], Server], settings: Settings) -> None:
    server = start(settings.model_copy(update={"deployment": "local"}))
    mark = settings.home / "run" / "activity"
    assert server.client(None).get("/health").status_code == 200
    assert not mark.exists()
    for _, client in zip(range(2), itertools.repeat(server.client(KEY)), strict=False):
        assert client.get("/tasks").status_code == 200
    assert mark.exists()
