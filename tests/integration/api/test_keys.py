"""API keys over HTTP: each person has one, nobody gives more than they may, and somebody can always make the next."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import httpx2
import pytest

from .serving import KEY, Server


def make(client: httpx2.Client, name: str = "laptop", scope: str = "tasks", **members: object) -> httpx2.Response:
    headers = {"Idempotency-Key": str(members.pop("idempotency_key"))} if "idempotency_key" in members else {}
    return client.post("/api-keys", json={"name": name, "scope": scope, **members}, headers=headers)


def made(client: httpx2.Client, *arguments: str, **members: object) -> dict[str, str]:
    answer = make(client, *arguments, **members)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_key_works_with_its_scope_for_its_user(server: Server, client: httpx2.Client) -> None:
    key = made(client, "CI", "tasks", user="ada", expires_in_days=30)
    assert (key["name"], key["scope"], key["user"], key["role"]) == ("CI", "tasks", "ada", "member")
    assert key["key"].startswith(key["prefix"])
    assert len(key["prefix"]) == 11
    lifetime = datetime.fromisoformat(key["expires_at"]) - datetime.fromisoformat(key["created_at"])
    assert lifetime == timedelta(days=30)
    theirs = server.client(key["key"])
    assert theirs.get("/tasks").status_code == 200
    assert theirs.get("/api-keys").status_code == 403
    theirs.post("/tasks/upload/init", json={"name": "hers", "content_hash": "h"})
    assert server.sql("SELECT users.name FROM tasks JOIN users ON users.id = tasks.created_by") == [("ada",)]


def test_the_key_is_shown_once_and_stored_as_a_hash(server: Server, client: httpx2.Client) -> None:
    secret = made(client)["key"]
    listed = client.get("/api-keys")
    assert secret not in listed.text
    assert set(listed.json()["keys"][0]) == {
        "id", "name", "prefix", "scope", "user", "role",
        "created_at", "created_by", "expires_at", "last_used_at", "revoked_at",
    }  # fmt: skip
    ((stored,),) = server.sql("SELECT key_hash FROM api_keys WHERE name = 'laptop'")
    assert stored == hashlib.sha256(secret.encode()).digest()
    for table in ("api_keys", "idempotency_records"):
        assert not any(secret in str(row) for row in server.sql(f"SELECT row_to_json(t)::text FROM {table} t"))  # noqa: S608


def test_a_lost_answer_shows_the_same_key_again(server: Server, client: httpx2.Client) -> None:
    first = made(client, idempotency_key="one")
    again = make(client, idempotency_key="one")
    assert (again.headers["idempotency-replayed"], again.json()) == ("true", first)
    assert made(client, idempotency_key="two")["key"] != first["key"]
    assert server.sql("SELECT count(*) FROM api_keys WHERE name = 'laptop'") == [(2,)]
    for table in ("api_keys", "idempotency_records"):
        assert not any(first["key"] in str(row) for row in server.sql(f"SELECT row_to_json(t)::text FROM {table} t"))  # noqa: S608


def test_a_user_is_made_once_however_many_keys_ask_for_them(server: Server, client: httpx2.Client) -> None:
    barrier = threading.Barrier(12)
    clients = [server.client() for _ in range(12)]

    def start(client: httpx2.Client) -> int:
        barrier.wait()
        return make(client, user="ada").status_code

    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(start, clients)) == [200] * 12
    assert server.sql("SELECT count(*) FROM users WHERE name = 'ada'") == [(1,)]
    assert server.sql("SELECT count(DISTINCT user_id) FROM api_keys WHERE name = 'laptop'") == [(1,)]


def test_users_belong_to_an_organisation(server: Server, client: httpx2.Client) -> None:
    theirs = server.client(server.key("c", org="other", role="admin"))
    made(client, user="ada")
    made(theirs, "laptop", "full", user="ada", role="admin")
    assert server.sql("SELECT count(*) FROM users WHERE name = 'ada'") == [(2,)]
    assert [key["user"] for key in theirs.get("/api-keys").json()["keys"]] == ["ada", "user-c"]


def test_the_role_of_a_user_is_not_changed_by_the_way(client: httpx2.Client) -> None:
    assert made(client, user="ada", role="admin")["role"] == "admin"
    assert made(client, user="ada")["role"] == "admin"
    answer = make(client, user="ada", role="member")
    assert (answer.status_code, answer.json()["code"]) == (409, "other_role")
    assert "'ada'" in answer.json()["detail"]


def test_members_make_small_keys_for_themselves(server: Server) -> None:
    member = server.client(server.key("d"))
    for scope in ("read", "tasks"):
        assert made(member, "mine", scope)["user"] == "user-d"
    for refused in (make(member, "mine", "full"), make(member, user="ada"), make(member, user="admin")):
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert "member" in refused.json()["detail"]
    assert make(member, role="admin").status_code == 409
    assert server.sql("SELECT count(*) FROM users WHERE name = 'ada'") == [(0,)]


@pytest.mark.parametrize("scope", ["read", "tasks"])
def test_a_small_key_makes_none(server: Server, scope: str) -> None:
    small = server.client(server.key("d", scope=scope))
    assert make(small).status_code == 403
    assert small.delete("/api-keys/key-d").status_code == 403


REFUSALS: list[tuple[dict[str, object], str]] = [
    ({"scope": "everything"}, "scope"),
    ({"name": " "}, "name"),
    ({"name": "a\x00"}, "name"),
    ({"expires_in_days": 0}, "expires_in_days"),
    ({"expires_in_days": 4000}, "expires_in_days"),
    ({"role": "owner"}, "role"),
    ({"user": ""}, "user"),
]


@pytest.mark.parametrize(("members", "named"), REFUSALS)
def test_what_no_key_can_have_is_named(client: httpx2.Client, members: dict[str, object], named: str) -> None:
    answer = client.post("/api-keys", json={"name": "laptop", "scope": "tasks", **members})
    assert (answer.status_code, answer.json()["code"]) == (422, "validation")
    assert named in answer.json()["detail"]


def test_a_revoked_key_is_refused_at_once(server: Server, client: httpx2.Client) -> None:
    key = made(client)
    theirs = server.client(key["key"])
    assert theirs.get("/tasks").status_code == 200
    revoked = client.delete(f"/api-keys/{key['id']}").json()
    assert revoked["revoked_at"] is not None
    assert theirs.get("/tasks").status_code == 401
    assert client.delete(f"/api-keys/{key['id']}").json() == revoked
    assert client.get("/api-keys").json()["keys"][0] == revoked


def test_the_last_full_key_stays(server: Server, client: httpx2.Client) -> None:
    ((bootstrap,),) = server.sql("SELECT id FROM api_keys")
    made(client, "small", "tasks")
    answer = client.delete(f"/api-keys/{bootstrap}")
    assert (answer.status_code, answer.json()["code"]) == (409, "last_full_key")
    assert "oddish admin key create" in answer.json()["fix"]
    server.sql("UPDATE api_keys SET expires_at = now() WHERE id = %s", made(client, "late", "full")["id"])
    made(client, "of a member", "full", user="ada")
    assert client.delete(f"/api-keys/{bootstrap}").status_code == 409
    other = made(client, "other", "full")
    assert client.delete(f"/api-keys/{bootstrap}").status_code == 200
    assert server.client(other["key"]).delete(f"/api-keys/{other['id']}").status_code == 409


def test_the_admin_key_that_lasts_longest_stays(server: Server, client: httpx2.Client) -> None:
    ((bootstrap,),) = server.sql("SELECT id FROM api_keys")
    short = made(client, "short", "full", expires_in_days=10)
    long = made(client, "long", "full", expires_in_days=20)
    answer = client.delete(f"/api-keys/{bootstrap}")
    assert (answer.status_code, answer.json()["code"]) == (409, "last_full_key")
    assert "expire before" in answer.json()["detail"]
    other = made(client, "other", "full")
    assert client.delete(f"/api-keys/{bootstrap}").status_code == 200
    remaining = server.client(other["key"])
    server.sql("UPDATE api_keys SET expires_at = now() + interval '15 days' WHERE id = %s", other["id"])
    assert remaining.delete(f"/api-keys/{long['id']}").status_code == 409
    assert remaining.delete(f"/api-keys/{short['id']}").status_code == 200
    member = made(remaining, "hers", "full", user="ada", expires_in_days=1)
    assert remaining.delete(f"/api-keys/{member['id']}").status_code == 200


def test_no_key_makes_one_that_outlives_it(server: Server, client: httpx2.Client) -> None:
    expiring = made(client, "guest", "full", expires_in_days=30)
    guest = server.client(expiring["key"])
    latest = datetime.fromisoformat(expiring["expires_at"])
    for wanted in ({}, {"expires_in_days": 30}, {"expires_in_days": 365}):
        refused = make(guest, **wanted)
        assert (refused.status_code, refused.json()["code"]) == (403, "outlives_its_maker")
        assert f"{latest:%Y-%m-%d %H:%M} UTC" in refused.json()["detail"]
        assert refused.json()["fix"].endswith("--expires-in-days 29")
    assert server.sql("SELECT count(*) FROM api_keys") == [(2,)]
    assert datetime.fromisoformat(made(guest, expires_in_days=29)["expires_at"]) < latest
    server.sql("UPDATE api_keys SET expires_at = now() + interval '1 hour' WHERE id = %s", expiring["id"])
    assert "usable longer" in make(guest, expires_in_days=1).json()["fix"]


def test_a_key_that_has_ended_is_not_shown_again(server: Server, client: httpx2.Client) -> None:
    first, second = (made(client, idempotency_key=word, expires_in_days=30) for word in ("one", "two"))
    assert client.delete(f"/api-keys/{first['id']}").status_code == 200
    server.sql("UPDATE api_keys SET expires_at = now() WHERE id = %s", second["id"])
    for word, ended in (("one", first), ("two", second)):
        answer = make(client, idempotency_key=word, expires_in_days=30)
        assert (answer.status_code, answer.json()["code"]) == (409, "made_key_ended")
        assert ended["id"] in answer.json()["detail"]
        assert ended["key"] not in answer.text
    assert server.sql("SELECT count(*) FROM api_keys WHERE name = 'laptop'") == [(2,)]


def test_two_who_revoke_each_other_leave_one(server: Server, client: httpx2.Client) -> None:
    ((bootstrap,),) = server.sql("SELECT id FROM api_keys")
    other = made(client, "other", "full")
    callers = [(server.client(KEY), other["id"]), (server.client(other["key"]), bootstrap)]
    barrier = threading.Barrier(2)

    def revoke(pair: tuple[httpx2.Client, object]) -> int:
        barrier.wait()
        return pair[0].delete(f"/api-keys/{pair[1]}").status_code

    with ThreadPoolExecutor(2) as pool:
        statuses = sorted(pool.map(revoke, callers))
    assert statuses[0] == 200
    assert statuses[1] in (401, 409)
    assert server.sql("SELECT count(*) FROM api_keys WHERE revoked_at IS NULL") == [(1,)]


def test_keys_of_others_are_left_alone(server: Server, client: httpx2.Client) -> None:
    mine = made(client)
    stranger = server.client(server.key("a", org="other"))
    assert stranger.delete(f"/api-keys/{mine['id']}").status_code == 404
    assert [key["id"] for key in stranger.get("/api-keys").json()["keys"]] == ["key-a"]
    member = server.client(server.key("d"))
    assert member.delete(f"/api-keys/{mine['id']}").status_code == 403
    own = made(member, "own", "read")
    assert member.delete(f"/api-keys/{own['id']}").status_code == 200
    assert client.delete("/api-keys/absent").json()["code"] == "not_found"


def test_the_list_comes_in_pages_and_shows_the_last_use(server: Server, client: httpx2.Client) -> None:
    for index in range(4):
        server.client(made(client, f"key-{index}")["key"]).get("/tasks")
    names: list[str] = []
    cursor: str | None = None
    while True:
        page = client.get("/api-keys", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        assert len(page["keys"]) <= 2
        assert all(key["last_used_at"] for key in page["keys"])
        names += [key["name"] for key in page["keys"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert names == ["key-3", "key-2", "key-1", "key-0", "bootstrap"]
    with server.counting_statements() as statements:
        client.get("/api-keys")
    assert len(statements) == 1
