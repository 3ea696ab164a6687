"""Submitting: what is created, what is refused, and that nothing is half-created."""

import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from psycopg.types.json import Jsonb

from oddish.settings import Settings

from .serving import Server, TaskFolder

type NewTask = Callable[..., TaskFolder]


@pytest.fixture
def task_id(server: Server, client: httpx2.Client, new_task: NewTask) -> str:
    server.offer("local")
    server.offer("docker", reason="no container engine answers; start Docker.")
    return str(new_task().upload(client)["task_id"])


def sweep(client: httpx2.Client, task_id: str, *configs: dict[str, object], **members: object) -> httpx2.Response:
    body = {"task_id": task_id, "configs": list(configs) or [{"agent": "nop", "n_trials": 2}], **members}
    return client.post("/tasks/sweep", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})


def end_trials(server: Server, status: str, *trial_ids: str) -> None:
    state = {"failed": "failed", "success": "done"}[status]
    server.sql("UPDATE jobs SET state = %s, finished_at = now() WHERE subject_id = ANY (%s)", state, list(trial_ids))


def test_the_same_submission_twice_creates_nothing_new(server: Server, client: httpx2.Client, task_id: str) -> None:
    first = sweep(client, task_id, experiment_id="mine").json()
    assert first["new_trial_ids"] == [f"{task_id}-0", f"{task_id}-1"]
    second = sweep(client, task_id, experiment_id="mine")
    assert second.json()["new_trial_ids"] == []
    assert second.json()["trials_count"] == 2
    assert second.json()["experiment_id"] == first["experiment_id"]
    assert int(second.headers["oddish-submit-concurrency"]) >= 4
    assert server.sql("SELECT count(*) FROM jobs WHERE state = 'ready'") == [(2,)]


def test_more_trials_are_the_shortfall_only(server: Server, client: httpx2.Client, task_id: str) -> None:
    sweep(client, task_id, {"agent": "nop", "n_trials": 2}, experiment_id="mine")
    end_trials(server, "success", f"{task_id}-0")
    more = sweep(client, task_id, {"agent": "nop", "n_trials": 3}, experiment_id="mine").json()
    assert more["new_trial_ids"] == [f"{task_id}-2"]
    appended = sweep(client, task_id, {"agent": "nop", "n_trials": 4}, experiment_id="mine", append_to_task=True).json()
    assert (appended["new_trial_ids"], appended["trials_count"]) == ([f"{task_id}-3"], 1)


def test_failed_trials_are_replaced_and_stay_readable(server: Server, client: httpx2.Client, task_id: str) -> None:
    sweep(client, task_id, {"agent": "nop", "n_trials": 2}, experiment_id="mine")
    end_trials(server, "failed", f"{task_id}-0")
    again = sweep(client, task_id, {"agent": "nop", "n_trials": 2}, experiment_id="mine").json()
    assert again["new_trial_ids"] == [f"{task_id}-2"]
    assert again["trials_count"] == 2
    old = client.get(f"/trials/{task_id}-0").json()
    assert (old["status"], old["superseded_by_trial_id"]) == ("failed", f"{task_id}-2")
    shown = client.get(f"/tasks/{task_id}").json()
    assert [trial["id"] for trial in shown["trials"]] == [f"{task_id}-1", f"{task_id}-2"]
    everything = client.get(f"/tasks/{task_id}/trials").json()
    assert len(everything) == 3


def test_other_agents_models_and_experiments_are_units_of_their_own(client: httpx2.Client, task_id: str) -> None:
    def new(agent: str, model: str | None = None, experiment: str = "mine", **config: object) -> int:
        answer = sweep(
            client, task_id, {"agent": agent, "model": model, "agent_config": config}, experiment_id=experiment
        )
        assert answer.status_code == 200, answer.text
        return len(answer.json()["new_trial_ids"])

    assert new("nop") == 1
    assert new("oracle") == 1
    assert new("nop", experiment="other") == 1
    assert new("claude-code", "anthropic/claude-sonnet-4-5") == 1
    assert new("claude-code", "claude-sonnet-4-5") == 0
    assert new("claude-code", "claude-sonnet-4-5", kwargs={"max_turns": 3}) == 1
    assert new("claude-code", "claude-sonnet-4-5", env={"ANTHROPIC_API_KEY": "sk-ant-11111111"}) == 1
    assert new("claude-code", "claude-sonnet-4-5", env={"ANTHROPIC_API_KEY": "sk-ant-22222222"}) == 0
    assert new("nop", "ignored/model") == 0


def test_a_named_environment_counts_its_own_trials(server: Server, client: httpx2.Client, task_id: str) -> None:
    server.offer("docker", preference=5, engine="harbor/0.26.1")
    sweep(client, task_id, {"agent": "nop", "environment": "local"}, experiment_id="mine")
    assert sweep(client, task_id, {"agent": "nop"}, experiment_id="mine").json()["new_trial_ids"] == []
    answer = sweep(client, task_id, {"agent": "nop", "environment": "docker"}, experiment_id="mine").json()
    assert answer["new_trial_ids"] == [f"{task_id}-1"]
    assert server.sql("SELECT pool FROM jobs ORDER BY id") == [
        ("local@harbor/0.26.0",),
        ("docker@harbor/0.26.1",),
    ]


def test_concurrent_submissions_share_the_new_experiment(
    server: Server, client: httpx2.Client, new_task: NewTask
) -> None:
    server.offer()
    task_ids = [str(new_task(f"task-{index}").upload(client)["task_id"]) for index in range(6)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda task: sweep(client, task, experiment_id="shared"), task_ids))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["experiment_id"] for answer in answers}) == 1
    assert server.sql("SELECT count(*) FROM experiments") == [(1,)]


def test_a_submission_without_experiment_gets_a_named_one(client: httpx2.Client, task_id: str) -> None:
    answer = sweep(client, task_id).json()
    assert len(answer["experiment_id"]) == 8
    assert answer["experiment_name"].count("-") == 2


def test_secrets_are_encrypted_and_never_shown(server: Server, client: httpx2.Client, task_id: str) -> None:
    secret = "sk-ant-very-secret-value"
    config = {
        "agent": "claude-code",
        "model": "anthropic/claude-sonnet-4-5",
        "agent_config": {"env": {"ANTHROPIC_API_KEY": secret, "MODE": "fast"}},
    }
    trial_id = sweep(client, task_id, config).json()["new_trial_ids"][0]
    shown = client.get(f"/trials/{trial_id}")
    assert shown.json()["agent_config"]["env"] == {"ANTHROPIC_API_KEY": None, "MODE": "fast"}
    assert secret not in shown.text
    for table in ("trials", "jobs", "secrets", "tasks", "experiments"):
        rows = server.sql(f"SELECT row_to_json(t)::text FROM {table} t")  # noqa: S608
        assert not any(secret in str(row) for row in rows)
    ((ciphertext, days),) = server.sql(
        "SELECT ciphertext, extract(day FROM expires_at - secrets.created_at)::int FROM secrets"
        " JOIN trials ON trials.secret_id = secrets.id"
    )
    assert isinstance(ciphertext, bytes)
    assert secret in server.services.keyring.decrypt(ciphertext).decode()
    assert days in (29, 30)


REFUSALS: list[tuple[dict[str, object], int, str, str]] = [
    ({"configs": []}, 422, "validation", "configs"),
    ({"configs": [{"agent": "nop", "n_trials": 0}]}, 422, "validation", "configs.0.n_trials"),
    ({"configs": [{"agent": "nop", "timeout_minutes": 5}]}, 422, "validation", "timeout_minutes"),
    ({"probe_name": "cheats"}, 422, "validation", "probe_name"),
    ({"configs": [{"agent": "claude-code"}]}, 422, "model_required", "claude-code"),
    ({"configs": [{"agent": "orakel"}]}, 400, "unknown_agent", "oracle"),
    ({"environment": "moon"}, 400, "unknown_environment", "local"),
    ({"environment": "dayton"}, 400, "unknown_environment", "'daytona'"),
    ({"environment": "daytona"}, 400, "environment_not_enabled", "ODDISH_OFFERED_ENVIRONMENTS"),
    ({"environment": "ec2"}, 400, "environment_not_enabled", "ODDISH_EC2_ENABLED"),
    ({"environment": "docker"}, 400, "environment_unavailable", "no container engine answers"),
    ({"environment": "my.module:Box"}, 400, "closed_passthrough", "ODDISH_ALLOW_IMPORT_PATHS"),
    ({"configs": [{"agent": "my.module:Agent"}]}, 400, "closed_passthrough", "ODDISH_ALLOW_IMPORT_PATHS"),
    ({"harbor": {"environment": {"kwargs": {"cpus": 1}}}}, 400, "environment_option", "harbor.environment.kwargs.cpus"),
    ({"harbor": {"nonsense": 1}}, 400, "invalid_input", "harbor.nonsense"),
    ({"harbor": {"environment": {"mounts": ["/:/host"]}}}, 400, "closed_passthrough", "ODDISH_ALLOW_MOUNTS"),
    ({"harbor": {"environment": {"override_memory_mb": 9000}}}, 400, "too_little_memory", "4096 MB"),
    ({"content_hash": "oddish1:feed"}, 409, "unknown_content", "oddish1:feed"),
    (
        {"configs": [{"agent": "nop", "agent_config": {"kwargs": {"api_key": "sk-1234567890"}}}]},
        400,
        "plain_secret",
        "agent_config.kwargs.api_key",
    ),
    ({"priority": "urgent"}, 422, "validation", "'urgent'"),
]


@pytest.mark.parametrize(("members", "status", "code", "named"), REFUSALS, ids=[refusal[2] for refusal in REFUSALS])
def test_refusals_name_the_value_and_create_nothing(
    server: Server,
    client: httpx2.Client,
    task_id: str,
    members: dict[str, object],
    status: int,
    code: str,
    named: str,
) -> None:
    body = {"task_id": task_id, "configs": [{"agent": "nop"}], "experiment_id": "new", **members}
    answer = client.post("/tasks/sweep", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert named in answer.json()["detail"] + answer.json().get("fix", "")
    assert "sk-1234567890" not in answer.text
    counts = server.sql("SELECT (SELECT count(*) FROM trials), (SELECT count(*) FROM experiments)")
    assert counts == [(0, 0)]


UNSTORABLE: list[tuple[str, str]] = [
    (r'"configs": [{"agent": "nop", "agent_config": {"env": {"A_KEY": "sk-1234567890\u0000"}}}]', "A_KEY"),
    (r'"configs": [{"agent": "nop", "agent_config": {"env": {"A_KEY": "sk-1234567890\ud800"}}}]', "A_KEY"),
    (r'"configs": [{"agent": "nop", "agent_config": {"env": {"A=B": "x"}}}]', "'A=B'"),
    (r'"configs": [{"agent": "nop", "agent_config": {"env": {"A\u0000": "x"}}}]', r"'A\x00'"),
    (r'"configs": [{"agent": "nop", "agent_config": {"env": {"A\udc00": "x"}}}]', r"'A\udc00'"),
    (r'"configs": [{"agent": "nop", "agent_config": {"env": {"": "x"}}}]', "''"),
    (
        r'"configs": [{"agent": "nop", "agent_config": {"kwargs": {"a": ["\u0000"]}}}]',
        "agent_config.kwargs.a.0",
    ),
    (r'"configs": [{"agent": "nop", "agent_config": {"kwargs": {"a": NaN}}}]', "agent_config.kwargs.a is nan"),
    (r'"configs": [{"agent": "\ud800"}]', "configs.0.agent"),
    (r'"harbor": {"environment": {"kwargs": {"\ud800": 1}}}', r"'\ud800' in harbor.environment.kwargs"),
    (r'"tags": {"a": "\u0000"}', "tags.a"),
    (r'"tags": {"\ud800": "x"}', r"'\ud800' in tags"),
    (r'"github_meta": {"a": {"b": "\udfff"}}', "github_meta.a.b"),
    (r'"github_meta": {"a": Infinity}', "github_meta.a is inf"),
    (r'"user": "\u0000"', "user"),
    ('"github_meta": {"a": ' + "[" * 900 + "]" * 900 + "}", "levels"),
]


@pytest.mark.parametrize(("member", "named"), UNSTORABLE, ids=[member[:80] for member, _ in UNSTORABLE])
def test_what_cannot_be_stored_is_named(
    server: Server, client: httpx2.Client, task_id: str, member: str, named: str
) -> None:
    default = "" if member.startswith('"configs"') else '"configs": [{"agent": "nop"}], '
    body = f'{{"task_id": "{task_id}", {default}{member}}}'
    answer = client.post("/tasks/sweep", content=body.encode(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (422, "validation"), answer.text
    assert named in answer.json()["detail"]
    assert "sk-1234567890" not in answer.text
    assert server.sql("SELECT count(*) FROM trials") == [(0,)]


def test_a_secret_of_a_wrong_type_is_not_echoed(client: httpx2.Client, task_id: str) -> None:
    config = {"agent": "nop", "agent_config": {"env": {"API_KEY": 1234567890123}}}
    answer = sweep(client, task_id, config)
    assert answer.status_code == 422
    assert "1234567890123" not in answer.text


def test_without_any_worker_the_answer_says_so(
    server: Server, client: httpx2.Client, new_task: NewTask, settings: Settings
) -> None:
    task_id = str(new_task().upload(client)["task_id"])
    answer = sweep(client, task_id)
    assert (answer.status_code, answer.json()["code"]) == (503, "no_worker")
    assert answer.headers["retry-after"]
    assert "oddish worker" in answer.json()["fix"]


def test_trials_run_on_the_version_of_the_content(server: Server, client: httpx2.Client, new_task: NewTask) -> None:
    server.offer()
    first = new_task("hello", instruction="One.").upload(client)
    second = new_task("hello", instruction="Two.").upload(client)
    assert (first["version"], second["version"]) == (1, 2)
    task_id = str(first["task_id"])
    old = sweep(client, task_id, {"agent": "nop"}, experiment_id="mine", content_hash=first["content_hash"]).json()
    new = sweep(client, task_id, {"agent": "nop"}, experiment_id="mine").json()
    versions = [client.get(f"/trials/{answer['new_trial_ids'][0]}").json()["task_version"] for answer in (old, new)]
    assert versions == [1, 2]
    assert client.get(f"/tasks/{task_id}").json()["total"] == 1


def test_memory_of_the_task_is_reserved(server: Server, client: httpx2.Client, new_task: NewTask) -> None:
    server.offer()
    folder = new_task(config='schema_version = "1.0"\n[environment]\nmemory_mb = 512\n')
    sweep(client, str(folder.upload(client)["task_id"]), {"agent": "nop"})
    assert server.sql("SELECT memory_mb, priority, lane FROM jobs") == [(512, 0, "admin")]


def test_cancel(server: Server, client: httpx2.Client, task_id: str) -> None:
    submitted = sweep(client, task_id, {"agent": "nop", "n_trials": 3}, experiment_id="mine").json()
    sweep(client, task_id, {"agent": "oracle", "n_trials": 1}, experiment_id="other")
    end_trials(server, "success", f"{task_id}-0")
    one = client.post("/tasks/cancel", json={"task_ids": [], "trial_ids": [f"{task_id}-1", "nothing-7"]}).json()
    assert (one["trials_cancelled"], one["not_found_task_ids"], one["task_ids"]) == (1, ["nothing-7"], [task_id])
    rest = client.post("/tasks/cancel", json={"task_ids": [], "experiment_id": submitted["experiment_id"]}).json()
    assert (rest["trials_cancelled"], rest["tasks_cancelled"]) == (1, 1)
    statuses = {trial["id"]: trial["status"] for trial in client.get(f"/tasks/{task_id}").json()["trials"]}
    assert list(statuses.values()) == ["success", "failed", "failed", "queued"]
    assert client.post("/tasks/cancel", json={"task_ids": [task_id, "absent"]}).json()["trials_cancelled"] == 1
    assert client.post("/tasks/cancel", json={"task_ids": [task_id]}).json()["trials_cancelled"] == 0
    assert client.post("/tasks/cancel", json={"task_ids": []}).status_code == 400
    assert client.post("/tasks/cancel", json={"task_ids": ["absent"]}).status_code == 404
    assert client.post("/tasks/cancel", json={"experiment_id": "absent"}).status_code == 404


def test_the_default_environment_is_one_that_is_alive(server: Server, client: httpx2.Client, new_task: NewTask) -> None:
    server.offer("docker", preference=0, alive=False)
    server.offer("local", preference=1)
    task_id = str(new_task().upload(client)["task_id"])
    trial_id = sweep(client, task_id).json()["new_trial_ids"][0]
    assert client.get(f"/trials/{trial_id}").json()["environment"] == "local"


def test_many_trials_at_once_and_not_too_many(server: Server, client: httpx2.Client, task_id: str) -> None:
    started = time.perf_counter()
    assert len(sweep(client, task_id, {"agent": "nop", "n_trials": 2000}).json()["new_trial_ids"]) == 2000
    assert time.perf_counter() - started < 10
    answer = sweep(client, task_id, {"agent": "nop", "n_trials": 6000}, {"agent": "oracle", "n_trials": 6000})
    assert answer.status_code == 422
    assert "12000" in answer.json()["detail"]


def test_publications_of_agents_are_read_as_json(server: Server, client: httpx2.Client, task_id: str) -> None:
    server.sql("UPDATE publications SET agents = %s", Jsonb([{"name": "other", "needs_model": False}]))
    assert sweep(client, task_id, {"agent": "other"}).status_code == 200
