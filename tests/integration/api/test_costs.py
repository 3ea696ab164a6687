"""What was spent, by the routes that tell it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from oddish.client import Client
from support.accounts import RAN, Accounts, Ran, Spent

from .serving import KEY, Server

NOW = datetime.now(UTC)
YESTERDAY, LAST_MONTH = NOW - timedelta(days=1), NOW - timedelta(days=40)
TRIALS = (
    Ran((Spent(YESTERDAY, 1.0, input_tokens=100, output_tokens=10, cache_tokens=50), Spent(NOW, 2.0, estimated=True))),
    Ran((Spent(YESTERDAY, 4.0),), user="u1", experiment="e1", task="t1", agent="claude-code", model="anthropic/opus"),
    Ran((Spent(None, 0.25, estimated=True),), user="u1"),
    Ran((Spent(YESTERDAY, None, input_tokens=7),), model="openai/secret"),
    Ran((Spent(YESTERDAY, None, facts=RAN),), agent="aider", model=None),
    Ran((Spent(YESTERDAY, 8.0),), deleted=True, probe=True),
    Ran((Spent(YESTERDAY, 99.0),), imported=True),
    Ran((Spent(LAST_MONTH, 16.0),)),
)
WITHIN_A_WEEK = 1.0 + 2.0 + 4.0 + 0.25 + 8.0


@pytest.fixture
def accounts(server: Server) -> Accounts:
    made = Accounts(server.database, "default")
    made.open()
    return made


@pytest.fixture
def spent(accounts: Accounts) -> None:
    for trial in TRIALS:
        accounts.add(trial)


def read(client: httpx2.Client, path: str = "", **params: int) -> dict[str, Any]:
    answer = client.get(f"/admin/costs{path}", params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_where_nothing_was_spent_everything_is_zero_and_drawn(client: httpx2.Client) -> None:
    found = read(client)
    assert found["totals"] == {
        **dict.fromkeys(("cost_usd", "cost_estimated_usd", "cost_native_usd", "qa_cost_usd"), 0.0),
        **dict.fromkeys(("prev_cost_usd", "month_cost_usd"), 0.0),
        **dict.fromkeys(("trial_count", "attempt_count", "experiment_count", "user_count"), 0),
        **dict.fromkeys(("unpriced_attempt_count", "unreported_attempt_count", "inflight_trial_count"), 0),
        **dict.fromkeys(("tokens", "input_tokens", "cache_tokens", "cache_write_tokens", "output_tokens"), 0),
        "month_budget_usd": None,
    }
    assert (found["window_days"], found["bucket"]) == (7, "day")
    assert len(found["series_by_model"]["buckets"]) == 8
    assert found["series_qa_by_model"] == {"dimension": "model", "keys": [], "buckets": []}
    assert found["by_user"] == found["unknown"] == []


@pytest.mark.usefixtures("spent")
def test_the_organisation(client: httpx2.Client) -> None:
    found = read(client)
    totals = found["totals"]
    assert totals["cost_usd"] == totals["cost_native_usd"] + totals["cost_estimated_usd"] == WITHIN_A_WEEK
    assert totals["cost_estimated_usd"] == 2.25
    assert (totals["trial_count"], totals["attempt_count"], totals["inflight_trial_count"]) == (6, 7, 1)
    assert (totals["tokens"], totals["input_tokens"], totals["cache_tokens"]) == (117, 107, 50)
    assert (totals["experiment_count"], totals["user_count"], totals["prev_cost_usd"]) == (2, 2, 0.0)
    assert [(one["name"], one["cost_usd"], one["inflight_trial_count"]) for one in found["by_user"]] == [
        ("user u0", 11.0, 0),
        ("user u1", 4.25, 1),
    ]
    assert [(one["agent"], one["cost_usd"]) for one in found["by_agent"]] == [
        ("codex", 11.25),
        ("claude-code", 4.0),
        ("aider", 0.0),
    ]
    assert [one["experiment_name"] for one in found["experiments"]] == ["experiment e0", "experiment e1"]
    assert found["series_by_user"]["keys"] == ["u0", "u1"]
    assert found["series_by_type"]["keys"] == ["trial"]
    for name in ("series_by_agent", "series_by_model", "series_by_user", "series_by_type"):
        assert sum(bucket["cost_usd"] for bucket in found[name]["buckets"]) == WITHIN_A_WEEK


@pytest.mark.usefixtures("spent")
def test_what_nobody_knows_the_cost_of_is_counted_and_named(client: httpx2.Client) -> None:
    found = read(client)
    assert [(one["agent"], one["model"], one["reason"], one["attempt_count"]) for one in found["unknown"]] == [
        ("aider", None, "no_usage", 1),
        ("codex", "openai/secret", "no_price", 1),
    ]
    assert (found["totals"]["unpriced_attempt_count"], found["totals"]["unreported_attempt_count"]) == (1, 1)
    assert [one["has_unbilled_spend"] for one in found["by_user"]] == [True, False]


@pytest.mark.usefixtures("spent")
def test_all_time(client: httpx2.Client) -> None:
    found = read(client, window_days=0)
    assert (found["bucket"], found["window_start"]) == ("week", None)
    assert found["totals"]["cost_usd"] == WITHIN_A_WEEK + 16.0
    assert found["totals"]["prev_cost_usd"] is None


@pytest.mark.usefixtures("spent")
@pytest.mark.parametrize("named", ["u1", "user u1"])
def test_one_user_by_id_or_name(client: httpx2.Client, named: str) -> None:
    found = read(client, f"/users/{named}")
    assert (found["billed_user_id"], found["name"], found["email"]) == ("u1", "user u1", "u1@example.com")
    assert (found["totals"]["cost_usd"], found["totals"]["task_count"], found["totals"]["trial_count"]) == (4.25, 2, 2)
    assert [(one["task_id"], one["task_name"], one["cost_usd"]) for one in found["tasks"]] == [
        ("t1", "task t1", 4.0),
        ("t0", "task t0", 0.25),
    ]
    assert [one["model"] for one in found["by_model"]] == ["anthropic/opus", "openai/gpt-5"]


@pytest.mark.usefixtures("spent")
def test_others_see_neither_the_costs_nor_the_users(server: Server) -> None:
    stranger = server.client(server.key("b1", org="other", role="admin"))
    assert read(stranger)["totals"]["cost_usd"] == 0.0
    assert stranger.get("/admin/costs/users/u1").status_code == 404
    assert server.client(server.key("a1", scope="tasks")).get("/admin/costs").status_code == 403


@pytest.mark.parametrize("days", ["-1", "3651", "week"])
def test_a_window_that_is_none_is_refused(client: httpx2.Client, days: str) -> None:
    assert client.get("/admin/costs", params={"window_days": days}).status_code == 422


@pytest.mark.usefixtures("spent")
def test_the_client(server: Server) -> None:
    with Client(server.url, KEY) as client:
        assert client.costs.organisation(window_days=0)["totals"]["cost_usd"] == WITHIN_A_WEEK + 16.0
        assert client.costs.user("user u1")["billed_user_id"] == "u1"
