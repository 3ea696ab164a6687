"""Limits and weights over HTTP: what is in force, where it comes from, and whose it is."""

from collections.abc import Callable

import httpx2
import pytest

from oddish.settings import Settings

from .serving import Server

ROUTE = "/admin/concurrency"


def lane(server: Server, key: str, user_id: object, *, org: str = "default", deploy_limit: int = 8) -> None:
    """What a submission of the user makes."""
    caps = [f"provider:{key.partition('/')[0]}", f"org:{org}"]
    server.sql("INSERT INTO queue_keys (key, deploy_limit) VALUES (%s, %s) ON CONFLICT DO NOTHING", key, deploy_limit)
    server.sql("INSERT INTO queue_lanes (key, lane, caps) VALUES (%s, %s, %s)", key, user_id, caps)
    for cap in caps:
        server.sql("INSERT INTO queue_caps (name) VALUES (%s) ON CONFLICT DO NOTHING", cap)


def admin_id(server: Server) -> object:
    ((found,),) = server.sql("SELECT id FROM users WHERE name = 'admin'")
    return found


def listed(client: httpx2.Client, name: str) -> dict[str, object]:
    answer = client.get(ROUTE).json()
    (entry,) = [entry for entry in answer["keys"] + answer["caps"] if name in (entry["queue_key"], entry["cap"])]
    return dict(entry)


def test_a_limit_says_where_it_comes_from(start: Callable[[Settings], Server], settings: Settings) -> None:
    changed = {"model_concurrency_overrides": {"openai/gpt-5": 2}, "provider_concurrency": {"openai": 5}}
    server = start(settings.model_copy(update=changed))
    client = server.client()
    for key in ("openai/gpt-5", "openai/gpt-4", "nop_oracle"):
        lane(server, key, admin_id(server))
    client.put(ROUTE, json={"queue_key": "openai/gpt-4", "limit": 1})
    client.put(ROUTE, json={"cap": "org", "limit": 9})
    sources = {
        name: listed(client, name)["source"]
        for name in ("openai/gpt-5", "openai/gpt-4", "nop_oracle", "provider:openai", "org:default")
    }
    assert sources == {
        "openai/gpt-5": "ODDISH_MODEL_CONCURRENCY_OVERRIDES",
        "openai/gpt-4": "override",
        "nop_oracle": "ODDISH_BASELINE_CONCURRENCY",
        "provider:openai": None,
        "org:default": "override",
    }
    returned = client.put(ROUTE, json={"queue_key": "openai/gpt-4", "limit": None}).json()
    assert (returned["limit"], returned["source"]) == (8, "ODDISH_DEFAULT_CONCURRENCY")


def test_a_server_that_starts_applies_its_limits_to_what_is_there(
    start: Callable[[Settings], Server], settings: Settings
) -> None:
    first = start(settings)
    lane(first, "openai/gpt-5", admin_id(first))
    lane(first, "google/flash", admin_id(first))
    first.client().put(ROUTE, json={"queue_key": "google/flash", "limit": 4})
    assert listed(first.client(), "openai/gpt-5")["limit"] == 8
    changed = {
        "default_concurrency": 3,
        "model_concurrency_overrides": {"openai/gpt-5": 2},
        "provider_concurrency": {"openai": 5},
        "organisation_concurrency": 6,
    }
    client = start(settings.model_copy(update=changed)).client()
    assert (listed(client, "openai/gpt-5")["limit"], listed(client, "openai/gpt-5")["deploy_limit"]) == (2, 2)
    assert (listed(client, "google/flash")["limit"], listed(client, "google/flash")["deploy_limit"]) == (4, 3)
    assert listed(client, "provider:openai")["source"] == "ODDISH_PROVIDER_CONCURRENCY"
    assert listed(client, "org:default")["limit"] == 6
    client = start(settings).client()
    assert listed(client, "openai/gpt-5")["limit"] == 8
    assert listed(client, "provider:openai")["limit"] is None


def test_names_are_taken_in_any_spelling(server: Server) -> None:
    client = server.client()
    assert client.put(ROUTE, json={"queue_key": "gemini/Flash", "limit": 1}).json()["queue_key"] == "google/flash"
    assert client.put(ROUTE, json={"cap": "provider:Gemini", "limit": 1}).json()["cap"] == "provider:google"
    assert client.put(ROUTE, json={"queue_key": "Auto", "limit": 1}).json()["queue_key"] == "default"


def test_a_key_is_paused_and_resumed(server: Server) -> None:
    client = server.client()
    lane(server, "openai/gpt-5", admin_id(server))
    paused = client.put(ROUTE, json={"queue_key": "openai/gpt-5", "paused": True}).json()
    assert (paused["paused"], paused["limit"], paused["override_limit"]) == (True, 8, None)
    both = client.put(ROUTE, json={"queue_key": "openai/gpt-5", "paused": False, "limit": 3}).json()
    assert (both["paused"], both["limit"]) == (False, 3)
    unknown = client.put(ROUTE, json={"queue_key": "openai/gtp-5", "paused": True})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    assert "openai/gtp-5" in unknown.json()["detail"]


@pytest.mark.parametrize(
    "named", [{"queue_key": "never/seen"}, {"cap": "provider:never"}, {"cap": "org"}, {"cap": "org:elsewhere"}]
)
def test_what_is_not_there_has_no_limit_to_remove(server: Server, named: dict[str, str]) -> None:
    refused = server.client().put(ROUTE, json={**named, "limit": None})
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert server.sql("SELECT key FROM queue_keys UNION ALL SELECT name FROM queue_caps") == []


@pytest.mark.parametrize(
    "body",
    [
        {"limit": 1},
        {"queue_key": "openai/gpt-5"},
        {"queue_key": "openai/gpt-5", "cap": "org", "limit": 1},
        {"cap": "org", "paused": True},
        {"cap": "user:ada", "limit": 1},
        {"cap": "provider: ", "limit": 1},
        {"cap": f"provider:{'x' * 10_000}", "limit": 1},
        {"queue_key": "openai/gpt-5", "limit": -1},
        {"queue_key": "openai/gpt-5", "limit": True},
        {"queue_key": "openai/gpt-5", "limit": "3"},
        {"queue_key": "openai/gpt-5", "limit": 3, "paused": "yes"},
        {"queue_key": "openai/gpt-5", "limit": 3, "pause": True},
    ],
)
def test_a_change_that_says_too_little_or_too_much_is_refused(server: Server, body: dict[str, object]) -> None:
    assert server.client().put(ROUTE, json=body).status_code == 422
    assert server.sql("SELECT count(*) FROM queue_keys WHERE override_limit IS NOT NULL OR paused") == [(0,)]


@pytest.mark.parametrize("name", ["nop", "oracle", "Oracle"])
def test_an_agent_that_shares_a_key_gets_none_of_its_own(server: Server, name: str) -> None:
    client = server.client()
    for change in ({"limit": 2}, {"paused": True}):
        refused = client.put(ROUTE, json={"queue_key": name, **change})
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
        assert "nop_oracle" in refused.json()["fix"]
    lane(server, name.lower(), admin_id(server))  # As an earlier release took it.
    assert client.put(ROUTE, json={"queue_key": name, "limit": None, "paused": False}).status_code == 200


def test_a_weight_holds_for_the_lanes_a_user_has_and_will_have(server: Server) -> None:
    client = server.client()
    server.key("a", role="member")
    lane(server, "openai/gpt-5", "user-a")
    lane(server, "openai/gpt-5", admin_id(server))
    assert client.put("/admin/weights", json={"user": "user-a", "weight": 2.5}).json() == {
        "user": "user-a",
        "weight": 2.5,
    }
    lane(server, "google/flash", "user-a")
    assert server.sql("SELECT DISTINCT weight FROM queue_lanes WHERE lane = 'user-a'") == [(2.5,)]
    assert server.sql("SELECT DISTINCT weight FROM queue_lanes WHERE lane <> 'user-a'") == [(1,)]
    assert client.get(ROUTE).json()["weights"] == [{"user": "user-a", "weight": 2.5}]
    client.put("/admin/weights", json={"user": "user-a", "weight": 1})
    assert client.get(ROUTE).json()["weights"] == []


def test_users_of_others_have_no_weight_here(server: Server) -> None:
    server.key("b", org="others")
    refused = server.client().put("/admin/weights", json={"user": "user-b", "weight": 2})
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert server.sql("SELECT DISTINCT weight FROM users") == [(1,)]


@pytest.mark.parametrize("weight", [0, -1, 101, "much", "2", True])
def test_a_weight_that_means_nothing_is_refused(server: Server, weight: object) -> None:
    assert server.client().put("/admin/weights", json={"user": "admin", "weight": weight}).status_code == 422


def test_members_change_neither(server: Server) -> None:
    client = server.client(server.key("c", scope="full", role="member"))
    assert client.put(ROUTE, json={"queue_key": "nop_oracle", "limit": 1}).status_code == 403
    assert client.put("/admin/weights", json={"user": "user-c", "weight": 9}).status_code == 403
