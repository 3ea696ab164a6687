"""Secrets of an organisation, and the agents that take them, over HTTP."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from psycopg.types.json import Jsonb

from oddish.engine.credentials import read_table

from .serving import Server

VALUE = "sk-a-value-nobody-sees-again"


def keep(client: httpx2.Client, name: str = "ANTHROPIC_API_KEY", value: str = VALUE) -> httpx2.Response:
    return client.put(f"/secrets/{name}", json={"value": value})


def test_a_secret_is_kept_listed_replaced_and_removed(server: Server, client: httpx2.Client) -> None:
    assert client.get("/secrets").json() == {"secrets": []}
    made = keep(client).json()
    assert (made["name"], made["created_by"]) == (
        "ANTHROPIC_API_KEY",
        client.get("/secrets").json()["secrets"][0]["created_by"],
    )
    replaced = keep(client, value="another-value").json()
    assert replaced["created_at"] == made["created_at"] < replaced["updated_at"]
    assert [secret["name"] for secret in client.get("/secrets").json()["secrets"]] == ["ANTHROPIC_API_KEY"]
    assert client.delete("/secrets/ANTHROPIC_API_KEY").json() == {"status": "deleted", "name": "ANTHROPIC_API_KEY"}
    gone = client.delete("/secrets/ANTHROPIC_API_KEY")
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")


def test_no_answer_and_no_row_shows_a_value(server: Server, client: httpx2.Client) -> None:
    answers = [keep(client), client.get("/secrets"), client.get("/agents"), client.delete("/secrets/ANTHROPIC_API_KEY")]
    assert all(VALUE not in answer.text for answer in answers)
    keep(client)
    ((ciphertext,),) = server.sql("SELECT ciphertext FROM org_secrets")
    assert VALUE.encode() not in bytes(ciphertext)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body", [{"value": 123456789012}, {"value": [VALUE]}, {"value": VALUE * 4_000}, {}, {"value": ""}]
)
def test_a_refused_value_is_not_shown(client: httpx2.Client, body: dict[str, Any]) -> None:
    refused = client.put("/secrets/OPENAI_API_KEY", json=body)
    assert refused.status_code in {413, 422}
    assert "123456789012" not in refused.text
    assert VALUE not in refused.text


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("PATH", "steers programs"),
        ("LD_PRELOAD", "steers programs"),
        ("ODDISH_SECRET_KEY", "steers programs"),
        ("1st", "not the name of a variable"),
        ("a-b", "not the name of a variable"),
    ],
)
def test_names_that_no_trial_can_be_given_are_refused(client: httpx2.Client, name: str, reason: str) -> None:
    refused = keep(client, name)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
    assert name in refused.json()["detail"]
    assert reason in refused.json()["detail"]


def test_secrets_are_kept_by_admins_of_the_organisation(server: Server, client: httpx2.Client) -> None:
    keep(client)
    other = server.client(server.key("a1", org="other", role="admin"))
    assert other.get("/secrets").json() == {"secrets": []}
    assert other.delete("/secrets/ANTHROPIC_API_KEY").status_code == 404
    for member in (server.client(server.key("a2", scope="tasks")), server.client(server.key("a3"))):
        assert keep(member).status_code == 403
        assert member.delete("/secrets/ANTHROPIC_API_KEY").status_code == 403
        assert len(member.get("/secrets").json()["secrets"]) == 1


@pytest.fixture
def informed(server: Server) -> Server:
    """A worker has said what its agents need."""
    server.offer()
    server.sql("UPDATE publications SET credentials = %s", Jsonb(read_table()))
    return server


def agent(client: httpx2.Client, name: str, model: str | None = None) -> dict[str, Any]:
    params = {"agent": name} | ({"model": model} if model else {})
    (found,) = client.get("/agents", params=params).json()["agents"]
    return dict(found)


def test_agents_say_what_they_take(informed: Server, client: httpx2.Client) -> None:
    found = agent(client, "claude-code", "anthropic/claude-sonnet-4-5")
    assert found["needs_model"]
    assert found["credentials"]["required"]
    assert ["ANTHROPIC_API_KEY"] in found["credentials"]["one_of"]
    assert "CLAUDE_FORCE_OAUTH" in found["credentials"]["also"]
    assert agent(client, "oracle") == {
        "name": "oracle",
        "needs_model": False,
        "credentials": {"required": False, "one_of": [], "also": []},
    }
    assert client.get("/agents", params={"agent": "nobody"}).json()["agents"] == []
    assert [entry["name"] for entry in client.get("/agents").json()["agents"]] == ["claude-code", "nop", "oracle"]


def test_what_is_there_already_is_named(informed: Server, client: httpx2.Client) -> None:
    keep(client, "GITHUB_TOKEN")
    informed.sql("UPDATE workers SET credentials = '{OPENAI_API_KEY}'")
    assert client.get("/agents").json()["offered"] == ["GITHUB_TOKEN", "OPENAI_API_KEY"]
    informed.sql("UPDATE workers SET lease_until = now() - interval '1 second'")
    assert client.get("/agents").json()["offered"] == ["GITHUB_TOKEN"]


def test_without_a_worker_nothing_is_known(client: httpx2.Client) -> None:
    refused = client.get("/agents")
    assert (refused.status_code, refused.json()["code"]) == (503, "no_worker")


def test_reading_takes_few_statements(informed: Server, client: httpx2.Client) -> None:
    for path in ("/agents", "/secrets"):
        with informed.counting_statements() as statements:
            assert client.get(path).status_code == 200
        assert len(statements) <= 3, statements


def test_the_server_says_whose_machine_it_is(client: httpx2.Client) -> None:
    assert client.get("/health").json()["deployment"] == "self-hosted"


def test_a_local_server_says_so(start: Callable[..., Server], settings: Any) -> None:
    local = start(settings.model_copy(update={"deployment": "local"}))
    assert local.client().get("/health").json()["deployment"] == "local"
