"""Retrying: what runs again, what it is given, what is refused, and that nothing runs twice."""

import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import psycopg
import pytest

from oddish.db.url import plain
from oddish.settings import Settings
from support.waiting import eventually

from .serving import Server, TaskFolder

type NewTask = Callable[..., TaskFolder]

NOP, ORACLE = {"agent": "nop"}, {"agent": "oracle"}
MODEL = {"agent": "claude-code", "model": "anthropic/claude-sonnet-4-5"}
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
JOB = "SELECT pool, key, lane, priority, max_attempts, memory_mb, state FROM jobs WHERE subject_id = %s"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"offered_environments": ["local", "docker"]})


@pytest.fixture
def task_id(server: Server, client: httpx2.Client, new_task: NewTask) -> str:
    server.offer("local", preference=0)
    server.offer("docker", preference=1)
    return str(new_task().upload(client)["task_id"])


def sweep(client: httpx2.Client, task_id: str, *configs: dict[str, object], **members: object) -> list[str]:
    body = {"task_id": task_id, "configs": list(configs), "experiment_id": "mine", **members}
    answer = client.post("/tasks/sweep", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})
    assert answer.status_code == 200, answer.text
    created: list[str] = answer.json()["new_trial_ids"]
    return created


def end(server: Server, state: str, *trial_ids: str, reward: float | None = None) -> None:
    server.sql("UPDATE trials SET reward = %s WHERE id = ANY (%s)", reward, list(trial_ids))
    server.sql("UPDATE jobs SET state = %s, finished_at = now() WHERE subject_id = ANY (%s)", state, list(trial_ids))


def retry(client: httpx2.Client, **body: object) -> dict[str, Any]:
    answer = client.post("/trials/retry", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def listed(client: httpx2.Client, task_id: str) -> list[str]:
    return [trial["id"] for trial in client.get(f"/tasks/{task_id}").json()["trials"]]


def test_a_trial_that_ended_gets_a_new_one_made_like_it(server: Server, client: httpx2.Client, task_id: str) -> None:
    env = {"ANTHROPIC_API_KEY": "sk-ant-11111111", "MODE": "fast"}
    config = {**MODEL, "environment": "local", "agent_config": {"env": env}}
    members = {"priority": "high", "max_trial_attempts": 2, "harbor": {"environment": {"override_memory_mb": 512}}}
    (old,) = sweep(client, task_id, config, **members)
    end(server, "failed", old)
    server.sql("DELETE FROM jobs")
    other = server.client(server.key("c1", scope="tasks"))
    answer = other.post(f"/trials/{old}/retry", json={})
    new = f"{task_id}-1"
    assert answer.status_code == 200, answer.text
    experiment_id = client.get(f"/trials/{old}").json()["experiment_id"]
    expected = {"trial_id": old, "new_trial_id": new, "task_id": task_id, "status": "queued"}
    assert answer.json() == {**expected, "experiment_id": experiment_id}
    before, after = (client.get(f"/trials/{name}").json() for name in (old, new))
    assert (before["status"], before["superseded_by_trial_id"]) == ("failed", new)
    differing = {name for name in before if before[name] != after[name]}
    assert differing <= {
        "id", "name", "status", "superseded_by_trial_id", "created_at", "finished_at", "queue_info", "harbor_stage",
        "correlation_id",
    }  # fmt: skip
    assert listed(client, task_id) == [new]
    job = ("local@harbor/0.26.0", "anthropic/claude-sonnet-4-5", "user-c1", 1, 2, 512, "ready")
    assert server.sql(JOB, new) == [job]
    kept = "SELECT s.ciphertext FROM secrets s JOIN trials t ON t.secret_id = s.id WHERE t.id = %s"
    ((first,),), ((second,),) = (server.sql(kept, name) for name in (old, new))
    decrypt = server.services.keyring.decrypt
    assert json.loads(decrypt(first)) == json.loads(decrypt(second))  # type: ignore[arg-type]
    assert sweep(client, task_id, config, **members) == []


def test_what_has_not_ended_or_was_replaced_is_refused(server: Server, client: httpx2.Client, task_id: str) -> None:
    first, second = sweep(client, task_id, {**NOP, "n_trials": 2})

    def refusal(trial_id: str) -> tuple[int, str]:
        answer = client.post(f"/trials/{trial_id}/retry")
        return answer.status_code, answer.json()["code"]

    assert refusal(first) == (400, "trial_unfinished")
    assert refusal("absent-0") == (404, "not_found")
    end(server, "done", first)
    assert client.post(f"/trials/{first}/retry").status_code == 200
    assert refusal(first) == (400, "already_superseded")
    server.sql("UPDATE trials SET origin = 'imported' WHERE id = %s", second)
    end(server, "failed", second)
    assert refusal(second) == (400, "imported_trial")
    third = f"{task_id}-2"
    many = retry(client, trial_ids=[first, second, third, "absent-0", third])
    codes = {entry["trial_id"]: entry["error"]["code"] for entry in many["refused"]}
    assert codes == {
        first: "already_superseded",
        second: "imported_trial",
        third: "trial_unfinished",
        "absent-0": "not_found",
    }
    assert (many["retried"], many["failed"]) == ([], 4)
    assert client.post("/trials/retry", json={}).status_code == 422
    assert client.post("/trials/retry", json={"task_id": task_id, "trial_ids": [first]}).status_code == 422
    assert client.post("/trials/retry", json={"task_id": "absent"}).status_code == 404
    assert client.post("/trials/retry", json={"experiment_id": "absent"}).status_code == 404


def test_who_comes_second_is_told_so(server: Server, client: httpx2.Client, task_id: str, database_url: str) -> None:
    first, second = sweep(client, task_id, {**NOP, "n_trials": 2})
    end(server, "failed", first, second)
    other = psycopg.connect(plain(database_url))
    with ThreadPoolExecutor(2) as pool, other:
        other.execute("SELECT FROM tasks WHERE id = %s FOR UPDATE", [task_id])
        one = pool.submit(client.post, f"/trials/{first}/retry")
        both = pool.submit(client.post, "/trials/retry", json={"trial_ids": [first, second]})
        eventually(lambda: server.sql(WAITING) == [(2,)])
        other.execute("UPDATE trials SET deleted_at = now() WHERE id = %s", [first])
        other.commit()
        answer, partly = one.result(30), both.result(30).json()
    assert (answer.status_code, answer.json()["code"]) == (409, "lost_race")
    assert [trial["trial_id"] for trial in partly["retried"]] == [second]
    assert [(entry["trial_id"], entry["error"]["code"]) for entry in partly["refused"]] == [(first, "lost_race")]


def test_tasks_and_experiments_run_again_what_came_to_nothing_of_what_they_show(
    server: Server, client: httpx2.Client, task_id: str, new_task: NewTask
) -> None:
    old = sweep(client, task_id, {**NOP, "n_trials": 2})
    end(server, "failed", *old)
    other = str(new_task("other").upload(client)["task_id"])
    failed, done, cancelled, waiting = sweep(client, other, {**NOP, "n_trials": 4})
    end(server, "failed", failed)
    end(server, "done", done)
    client.post("/tasks/cancel", json={"trial_ids": [cancelled]})
    elsewhere = sweep(client, other, NOP, experiment_id="elsewhere")
    end(server, "failed", *elsewhere)

    whole = retry(client, experiment_id="mine")
    assert [trial["trial_id"] for trial in whole["retried"]] == sorted([*old, failed, cancelled])
    assert (whole["queued"], whole["skipped"], whole["failed"]) == (4, 0, 0)
    assert listed(client, task_id) == [f"{task_id}-2", f"{task_id}-3"]
    assert retry(client, experiment_id="mine")["retried"] == []

    end(server, "failed", f"{task_id}-2")
    new_task(instruction="Say it again.").upload(client)
    assert retry(client, task_id=task_id)["retried"] == []
    assert len(retry(client, experiment_id="mine")["retried"]) == 1
    newest = sweep(client, task_id, NOP)
    end(server, "failed", *newest, f"{task_id}-4")
    assert [trial["trial_id"] for trial in retry(client, experiment_id="mine")["retried"]] == newest
    of_task = retry(client, task_id=other)
    assert [trial["trial_id"] for trial in of_task["retried"]] == elsewhere
    assert client.get(f"/trials/{waiting}").json()["superseded_by_trial_id"] is None


def test_the_gate_is_passed_again_unless_it_is_left_out(server: Server, client: httpx2.Client, task_id: str) -> None:
    oracle, model = sweep(client, task_id, ORACLE, MODEL, gate_baselines=True)
    (ungated,) = sweep(client, task_id, {**MODEL, "agent_config": {"kwargs": {"a": 1}}})
    end(server, "failed", oracle, ungated)
    assert client.get(f"/trials/{model}").json()["status"] == "skipped"

    alone = client.post(f"/trials/{model}/retry", json={}).json()
    assert alone["status"] == "skipped"
    forced = client.post(f"/trials/{alone['new_trial_id']}/retry", json={"gate_baselines": False}).json()
    assert forced["status"] == "queued"
    end(server, "failed", forced["new_trial_id"])

    together = {trial["trial_id"]: trial for trial in retry(client, task_id=task_id)["retried"]}
    assert together.keys() == {oracle, ungated, forced["new_trial_id"]}
    held, free = (together[name]["new_trial_id"] for name in (forced["new_trial_id"], ungated))
    state = "SELECT state FROM jobs WHERE subject_id = %s"
    assert (server.sql(state, held), server.sql(state, free)) == ([("held",)], [("ready",)])
    end(server, "done", together[oracle]["new_trial_id"], reward=1)
    assert server.sql(state, held) == [("ready",)]


def test_logins_are_kept_or_replaced_and_what_expired_is_said(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    hub = {"registry": "docker.io", "username": "acme", "token": "dckr_pat_old"}
    ghcr = {"registry": "ghcr.io", "username": "acme", "token": "ghp_old-token"}
    config = {**MODEL, "environment": "docker", "agent_config": {"env": {"ANTHROPIC_API_KEY": "sk-ant-11111111"}}}
    (first,) = sweep(client, task_id, config, registry_auth=[hub, ghcr])
    local = sweep(client, task_id, {**NOP, "environment": "local"})
    end(server, "failed", first, *local)
    new_hub = {**hub, "token": "dckr_pat_new"}
    answer = retry(client, experiment_id="mine", registry_auth=[new_hub])
    assert (answer["queued"], answer["failed"]) == (2, 0)
    rows = server.sql("SELECT s.ciphertext FROM secrets s JOIN trials t ON t.secret_id = s.id ORDER BY t.trial_index")
    logins = [json.loads(server.services.keyring.decrypt(row[0]))["registry_auth"] for row in rows]  # type: ignore[arg-type]
    assert logins == [[hub, ghcr], [new_hub, ghcr]]
    assert "dckr_pat_new" not in json.dumps(answer)

    second = next(trial["new_trial_id"] for trial in answer["retried"] if trial["trial_id"] == first)
    end(server, "failed", second)
    server.sql("DELETE FROM secrets")
    gone = client.post(f"/trials/{second}/retry")
    assert (gone.status_code, gone.json()["code"]) == (400, "secrets_gone")
    assert "30 days" in gone.json()["detail"]
    assert "--ae ANTHROPIC_API_KEY" in gone.json()["fix"]


def test_a_repeated_call_runs_nothing_twice_and_many_take_a_few_statements(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    old = sweep(client, task_id, {**NOP, "n_trials": 600})
    client.post("/tasks/cancel", json={"task_ids": [task_id]})
    key = {"Idempotency-Key": "once"}
    with server.counting_statements() as statements:
        first = client.post("/trials/retry", json={"experiment_id": "mine"}, headers=key)
    assert first.json()["queued"] == len(old)
    assert len(statements) < 30
    again = client.post("/trials/retry", json={"experiment_id": "mine"}, headers=key)
    assert (again.content, again.headers["Idempotency-Replayed"]) == (first.content, "true")
    assert server.sql("SELECT count(*), max(trial_index) FROM trials") == [(1200, 1199)]
    assert server.sql("SELECT count(*) FROM jobs WHERE state = 'ready'") == [(600,)]
