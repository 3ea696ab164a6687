"""Every route: who gets what answer, and how many statements one takes."""

import httpx2
import pytest

from oddish.api.scopes import ACCESS
from oddish.identity.principal import ADMIN, MEMBER, Scope

from .calls import CALLS, OBJECTS, READ_BOUND
from .furnishing import Furnished
from .serving import Server

pytestmark = pytest.mark.usefixtures("quiet_logs")

UNKNOWN = ("no key", "unknown", "expired", "revoked")
"""Who is nobody here."""
STRANGER = "stranger"


@pytest.fixture
def callers(server: Server, furnished: Furnished) -> dict[str, httpx2.Client]:
    """Clients by what their key is: those of a scope are the admin's. Stranger and member have full keys.

    The stranger is an admin elsewhere; the member owns the spare key.
    """
    keys = {
        "no key": None,
        "unknown": "ok_" + "f" * 32,
        "expired": server.key("e1", expires="-1 second"),
        "revoked": server.key("e2"),
        **{scope.value: server.key(f"a{index}", scope=scope) for index, scope in enumerate(Scope)},
        MEMBER: server.key("m1"),
        STRANGER: server.key("b1", org="other", role=ADMIN),
    }
    server.sql("UPDATE api_keys SET revoked_at = now() WHERE id = 'key-e2'")
    server.sql("UPDATE api_keys SET user_id = 'admin' WHERE id LIKE 'key-a_'")
    owner = "SELECT user_id FROM api_keys WHERE id = %s"
    server.sql(f"UPDATE api_keys SET user_id = ({owner}) WHERE id = 'key-m1'", furnished.names["key_id"])  # noqa: S608
    return {name: server.client(key) for name, key in keys.items()}


def test_every_route_has_a_call_here_and_reads_are_frugal() -> None:
    assert CALLS.keys() == ACCESS.keys(), "a route needs a call and a bound in calls.py"
    for (method, path), call in CALLS.items():
        assert method != "GET" or call.bound <= READ_BOUND, path


def test_every_route_stays_within_its_statements(server: Server, client: httpx2.Client, furnished: Furnished) -> None:
    exceeded = []
    for (method, path), call in CALLS.items():
        with server.counting_statements() as statements:
            answer = call.make(client, method, path, furnished, server)
        assert answer.status_code == call.success, (method, path, answer.text)
        needed = ACCESS[method, path]
        scope = needed.scope if needed else "-"
        print(f"{method:<6} {path:<42} {scope:<6} {len(statements)} of {call.bound}")  # noqa: T201
        if len(statements) > call.bound:
            exceeded.append((method, path, statements))
    assert exceeded == []


def test_every_route_answers_whom_the_table_admits(
    server: Server, callers: dict[str, httpx2.Client], furnished: Furnished
) -> None:
    print(f"{'':<49} {' '.join(f'{name:>8}' for name in callers)}")  # noqa: T201
    for (method, path), call in CALLS.items():
        answers = {name: call.make(caller, method, path, furnished, server) for name, caller in callers.items()}
        statuses = {name: answer.status_code for name, answer in answers.items()}
        print(f"{method:<6} {path:<42} {' '.join(f'{status:>8}' for status in statuses.values())}")  # noqa: T201
        needed = ACCESS[method, path]
        success = call.success
        expected = dict.fromkeys(UNKNOWN, success if needed is None else 401)
        expected |= {scope.value: success if needed is None or scope.includes(needed.scope) else 403 for scope in Scope}
        expected[MEMBER] = 403 if needed is not None and needed.role == ADMIN else call.for_colleague or success
        assert expected[MEMBER] != 403 or "'admin'" in answers[MEMBER].json()["detail"]
        expected[STRANGER] = success if needed is None else call.status_elsewhere(path, furnished)
        assert statuses == expected, (method, path)
        if needed is not None and expected[STRANGER] == success:
            assert not any(furnished.names[name] in answers[STRANGER].text for name in OBJECTS), path


VARYING = ("date", "content-length", "set-cookie", "x-correlation-id")


def test_every_get_route_answers_head_without_the_body(
    server: Server, client: httpx2.Client, furnished: Furnished
) -> None:
    for (method, path), call in CALLS.items():
        if method != "GET":
            continue
        whole = call.make(client, "GET", path, furnished, server)
        answer = call.make(client, "HEAD", path, furnished, server)
        assert (answer.status_code, answer.content) == (200, b""), path
        first, second = ({**one.headers} for one in (whole, answer))
        assert {name: first[name] for name in first if name not in VARYING} == {
            name: second[name] for name in second if name not in VARYING
        }, path
        assert ("content-length" in first) == ("content-length" in second), path
        refused = call.make(server.client(None), "HEAD", path, furnished, server)
        assert refused.status_code == (200 if ACCESS[method, path] is None else 401), path
    assert client.head("/absent").status_code == 404
    assert client.head("/tasks/upload/complete").status_code == 405


def test_a_file_that_the_caller_has_is_not_sent_again(client: httpx2.Client, furnished: Furnished) -> None:
    path = furnished.path("/trials/{trial_id}/files/big.log")
    whole = client.get(path)
    tag = whole.headers["etag"]
    for named in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        for call in (client.get, client.head):
            answer = call(path, headers={"If-None-Match": named})
            assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
            assert "content-length" not in answer.headers
    lines = [("If-None-Match", '"other"'), ("If-None-Match", tag)]
    assert client.get(path, headers=lines).status_code == 304
    for other in ('"other"', tag.strip('"'), ""):
        assert client.get(path, headers={"If-None-Match": other}).content == whole.content
    assert client.get(f"{path}x", headers={"If-None-Match": "*"}).status_code == 404
