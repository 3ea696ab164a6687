"""Submissions that limit what their trials cost: shared by name, kept by one, refused where nobody could hold them."""

import uuid
from collections.abc import Callable

import httpx2
import pytest

from .serving import Server, TaskFolder

MODEL = {"agent": "claude-code", "model": "anthropic/claude-haiku-4-5"}


@pytest.fixture
def task_ids(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> list[str]:
    server.offer("local")
    return [str(new_task(name=name).upload(client)["task_id"]) for name in ("first", "second")]


def sweep(client: httpx2.Client, task_id: str, config: dict[str, object] = MODEL, **members: object) -> httpx2.Response:
    body = {"task_id": task_id, "configs": [config], "experiment_id": "mine", **members}
    return client.post("/tasks/sweep", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})


def test_submissions_that_name_a_budget_share_it(server: Server, client: httpx2.Client, task_ids: list[str]) -> None:
    for task_id in task_ids:
        assert sweep(client, task_id, max_cost_usd=5, budget="run").status_code == 200
    assert server.sql("SELECT id, limit_usd, spent_usd FROM budgets") == [("run", 5, 0)]
    assert server.sql("SELECT DISTINCT budget_id FROM trials") == [("run",)]


def test_without_a_name_a_budget_is_of_one_submission(
    server: Server, client: httpx2.Client, task_ids: list[str]
) -> None:
    for task_id in task_ids:
        assert sweep(client, task_id, max_cost_usd=5).status_code == 200
    assert server.sql("SELECT count(DISTINCT budget_id), count(*) FROM trials") == [(2, 2)]


def test_one_budget_has_one_limit(client: httpx2.Client, task_ids: list[str]) -> None:
    sweep(client, task_ids[0], max_cost_usd=5, budget="run")
    refused = sweep(client, task_ids[1], max_cost_usd=6, budget="run")
    assert (refused.status_code, refused.json()["code"]) == (409, "budget_differs")
    assert "The limit of budget 'run' is $5.00, not $6.00." in refused.json()["detail"]


def test_nothing_is_added_to_a_run_that_is_past_its_limit(
    server: Server, client: httpx2.Client, task_ids: list[str]
) -> None:
    sweep(client, task_ids[0], max_cost_usd=5, budget="run")
    server.sql("UPDATE budgets SET spent_usd = 5.5, exceeded_at = now()")
    refused = sweep(client, task_ids[1], max_cost_usd=5, budget="run")
    assert (refused.status_code, refused.json()["code"]) == (409, "budget_exceeded")
    assert "The run has cost about $5.50, and its limit is $5.00." in refused.json()["detail"]
    assert sweep(client, task_ids[0], max_cost_usd=5, budget="run").status_code == 200


def test_the_cost_of_a_model_without_a_price_cannot_be_limited(client: httpx2.Client, task_ids: list[str]) -> None:
    refused = sweep(client, task_ids[0], {"agent": "claude-code", "model": "openai/unheard-of"}, max_cost_usd=5)
    assert (refused.status_code, refused.json()["code"]) == (400, "unpriced_model")
    assert "'openai/unheard-of'" in refused.json()["detail"]
    assert sweep(client, task_ids[0], {"agent": "oracle"}, max_cost_usd=5).status_code == 200


@pytest.mark.parametrize(
    "members", [{"max_cost_usd": 0}, {"max_cost_usd": -1}, {"budget": "run"}, {"max_cost_usd": "x"}]
)
def test_a_limit_is_an_amount(client: httpx2.Client, task_ids: list[str], members: dict[str, object]) -> None:
    assert sweep(client, task_ids[0], **members).status_code == 422
