"""Credentials of a submission: what is refused without them, and that nobody sees them again."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from psycopg.types.json import Jsonb

from oddish.engine.credentials import read_table

from .serving import Server, TaskFolder

KEY = "sk-a-key-that-nobody-sees"
CLAUDE = {"agent": "claude-code", "model": "anthropic/claude-sonnet-4-5"}
JUDGED = """
schema_version = "1.0"
[agent]
timeout_sec = 60.0
[verifier.env]
JUDGE_KEY = "${JUDGE_KEY}"
MODE = "${JUDGE_MODE:-strict}"
[solution.env]
SOLVER_KEY = "${SOLVER_KEY}"
"""


@pytest.fixture
def workers(server: Server) -> Server:
    """Workers that say what their agents need."""
    server.offer()
    server.sql("UPDATE publications SET credentials = %s", Jsonb(read_table()))
    return server


@pytest.fixture
def task_id(workers: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> str:
    return str(new_task().upload(client)["task_id"])


@pytest.fixture
def judged(workers: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> str:
    return str(new_task("judged", config=JUDGED).upload(client)["task_id"])


def sweep(client: httpx2.Client, task_id: str, config: dict[str, Any], **more: Any) -> httpx2.Response:
    return client.post("/tasks/sweep", json={"task_id": task_id, "configs": [config], "experiment_id": "e", **more})


def refusal(answer: httpx2.Response) -> dict[str, Any]:
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (400, "missing_credential"), answer.text
    return dict(problem)


def stored(server: Server) -> dict[str, Any]:
    ((ciphertext,),) = server.sql("SELECT ciphertext FROM secrets")
    return dict(json.loads(server.services.keyring.decrypt(bytes(ciphertext))))  # type: ignore[arg-type]


def test_an_agent_without_a_key_is_refused_before_anything_is_queued(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    problem = refusal(sweep(client, task_id, CLAUDE))
    assert "ANTHROPIC_API_KEY" in problem["detail"]
    assert "oddish secrets set ANTHROPIC_API_KEY" in problem["fix"]
    assert server.sql("SELECT count(*) FROM trials") == [(0,)]


@pytest.mark.parametrize(
    "given",
    [
        {"credentials": {"ANTHROPIC_API_KEY": KEY}},
        {"credentials": {"CLAUDE_CODE_OAUTH_TOKEN": KEY}},
        {"configs": [CLAUDE | {"agent_config": {"env": {"ANTHROPIC_API_KEY": KEY}}}]},
        {
            "configs": [CLAUDE | {"agent_config": {"env": {"ANTHROPIC_API_KEY": "${TEAM_KEY}"}}}],
            "credentials": {"TEAM_KEY": KEY},
        },
        {"configs": [CLAUDE | {"agent_config": {"kwargs": {"base_url": "http://127.0.0.1:8080"}}}]},
    ],
)
def test_any_way_to_a_model_is_good(client: httpx2.Client, task_id: str, given: dict[str, Any]) -> None:
    answer = sweep(client, task_id, CLAUDE, **given)
    assert answer.status_code == 200, answer.text
    assert KEY not in answer.text


def test_a_secret_of_the_organisation_is_enough(server: Server, client: httpx2.Client, task_id: str) -> None:
    other = server.client(server.key("b1", org="other", role="admin"))
    assert other.put("/secrets/ANTHROPIC_API_KEY", json={"value": KEY}).status_code == 200
    refusal(sweep(client, task_id, CLAUDE))
    client.put("/secrets/ANTHROPIC_API_KEY", json={"value": KEY})
    assert sweep(client, task_id, CLAUDE).status_code == 200


def test_what_a_live_worker_hands_on_is_enough(server: Server, client: httpx2.Client, task_id: str) -> None:
    server.sql("UPDATE workers SET credentials = '{ANTHROPIC_API_KEY}', lease_until = now() - interval '1 hour'")
    refusal(sweep(client, task_id, CLAUDE))
    server.sql("UPDATE workers SET lease_until = now() + interval '1 hour'")
    assert sweep(client, task_id, CLAUDE).status_code == 200


def test_trials_that_exist_need_no_key_again(client: httpx2.Client, task_id: str) -> None:
    first = sweep(client, task_id, CLAUDE, credentials={"ANTHROPIC_API_KEY": KEY}).json()
    again = sweep(client, task_id, CLAUDE).json()
    assert (len(first["new_trial_ids"]), again["new_trial_ids"]) == (1, [])
    refusal(sweep(client, task_id, CLAUDE | {"n_trials": 2}))


def test_keys_do_not_tell_trials_apart(client: httpx2.Client, task_id: str) -> None:
    for key in (KEY, "sk-rotated-meanwhile"):
        answer = sweep(client, task_id, CLAUDE, credentials={"ANTHROPIC_API_KEY": key})
        assert answer.json()["trials_count"] == 1


def test_a_variable_of_the_task_is_asked_for_when_it_is_used(client: httpx2.Client, judged: str) -> None:
    assert "'JUDGE_KEY'" in refusal(sweep(client, judged, {"agent": "nop"}))["detail"]
    assert sweep(client, judged, {"agent": "nop"}, credentials={"JUDGE_KEY": KEY}).status_code == 200
    assert (
        "'SOLVER_KEY'" in refusal(sweep(client, judged, {"agent": "oracle"}, credentials={"JUDGE_KEY": KEY}))["detail"]
    )
    disabled = {"verifier": {"disable": True}}
    assert sweep(client, judged, {"agent": "nop"}, experiment_id="f", harbor=disabled).status_code == 200


def test_what_is_kept_is_encrypted_and_in_no_answer(server: Server, client: httpx2.Client, task_id: str) -> None:
    config = CLAUDE | {"agent_config": {"env": {"SERVICE_TOKEN": "token-of-a-service"}}}
    made = sweep(client, task_id, config, credentials={"ANTHROPIC_API_KEY": KEY}).json()
    assert stored(server) == {
        "env": {"SERVICE_TOKEN": "token-of-a-service"},
        "credentials": {"ANTHROPIC_API_KEY": KEY},
    }
    (trial_id,) = made["new_trial_ids"]
    paths = [f"/trials/{trial_id}", f"/tasks/{task_id}", f"/tasks/{task_id}/trials", "/tasks", "/agents", "/secrets"]
    assert all(KEY not in client.get(path).text for path in paths)
    for (table,) in server.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        assert server.sql(f"SELECT 1 FROM {table} AS t WHERE t::text LIKE %s", f"%{KEY}%") == [], table  # noqa: S608


@pytest.mark.parametrize(
    "credentials",
    [{"PATH": KEY}, {"LD_PRELOAD": KEY}, {"not a name": KEY}, {"OPENAI_API_KEY": f"{KEY}\0"}, {"K": [KEY]}, [KEY], KEY],
)
def test_a_refused_credential_is_not_shown(client: httpx2.Client, task_id: str, credentials: Any) -> None:
    answer = sweep(client, task_id, {"agent": "nop"}, credentials=credentials)
    assert answer.status_code in {400, 422}
    assert KEY not in answer.text


def test_a_submission_of_a_batch_has_its_own(server: Server, client: httpx2.Client, task_id: str) -> None:
    item = {"task_id": task_id, "configs": [CLAUDE], "experiment_id": "e"}
    answer = client.post(
        "/tasks/sweep/batch", json={"submissions": [item, item | {"credentials": {"ANTHROPIC_API_KEY": KEY}}]}
    )
    assert [result["status_code"] for result in answer.json()["results"]] == [400, 200]
    assert answer.json()["results"][0]["error"]["code"] == "missing_credential"
    assert KEY not in answer.text
    assert stored(server)["credentials"] == {"ANTHROPIC_API_KEY": KEY}


def test_files_of_a_worker_are_no_credentials_of_strangers(
    start: Callable[..., Server], settings: Any, client: httpx2.Client, task_id: str
) -> None:
    codex = {"agent": "claude-code", "model": "m", "agent_config": {"env": {"CODEX_AUTH_JSON_PATH": "/etc/passwd"}}}
    answers = [
        sweep(client, task_id, codex),
        sweep(client, task_id, CLAUDE, credentials={"CODEX_FORCE_AUTH_JSON": "1"}),
        client.put("/secrets/GEMINI_OAUTH_CREDS_PATH", json={"value": "/etc/passwd"}),
    ]
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(400, "closed_passthrough")}
    local = start(settings.model_copy(update={"deployment": "local"})).client()
    assert local.put("/secrets/GEMINI_OAUTH_CREDS_PATH", json={"value": "/etc/passwd"}).status_code == 200
