"""A call that is sent again is answered once: its rows are made once, whatever happens to answers on their way."""

import json
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .serving import Server, TaskFolder

pytestmark = pytest.mark.long

type NewTask = Callable[..., TaskFolder]

CALLERS = 50
REPLAYED = "Idempotency-Replayed"
LIVE = "superseded_by_trial_id IS NULL"


@pytest.fixture
def task_id(server: Server, client: httpx2.Client, new_task: NewTask) -> str:
    server.offer()
    return str(new_task().upload(client)["task_id"])


def body(task_id: str, **members: object) -> dict[str, object]:
    return {"task_id": task_id, "configs": [{"agent": "nop", "n_trials": 2}], "experiment_id": "mine", **members}


def send(client: httpx2.Client, key: str, document: object, path: str = "/tasks/sweep") -> httpx2.Response:
    return client.post(path, json=document, headers={"Idempotency-Key": key})


def end_trials(server: Server, state: str, *trial_ids: str) -> None:
    server.sql("UPDATE jobs SET state = %s, finished_at = now() WHERE subject_id = ANY (%s)", state, list(trial_ids))


def at_once(server: Server, count: int, call: Callable[[httpx2.Client, int], httpx2.Response]) -> list[httpx2.Response]:
    """The answers to calls that start together, each from a client of its own."""
    barrier = threading.Barrier(count)
    clients = [server.client() for _ in range(count)]

    def start(index: int) -> httpx2.Response:
        barrier.wait()
        return call(clients[index], index)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))


def report(server: Server, what: str, answers: list[httpx2.Response]) -> None:
    ((trials,),) = server.sql("SELECT count(*) FROM trials")
    distinct = len({answer.content for answer in answers})
    replays = sum(REPLAYED in answer.headers for answer in answers)
    say(f"{what}: {trials} trials created, {distinct} distinct answers, {replays} replays")


def say(line: str) -> None:
    print(f"\n{line}")  # noqa: T201 - shown by `pytest -s`


def test_a_repeated_call_gets_the_same_answer(server: Server, client: httpx2.Client, task_id: str) -> None:
    first = send(client, "one", body(task_id))
    assert first.status_code == 200
    assert REPLAYED not in first.headers
    again = send(client, "one", body(task_id))
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers[REPLAYED] == "true"
    assert again.headers["content-type"] == first.headers["content-type"]
    assert int(again.headers["oddish-submit-concurrency"]) >= 4
    assert server.sql("SELECT count(*) FROM trials") == [(2,)]


def test_fifty_twins_with_one_key_make_one_set_of_trials(server: Server, task_id: str) -> None:
    anonymous = {name: value for name, value in body(task_id).items() if name != "experiment_id"}
    answers = at_once(server, CALLERS, lambda client, _: send(client, "one", anonymous))
    assert Counter(answer.status_code for answer in answers) == {200: CALLERS}
    assert len({answer.content for answer in answers}) == 1
    assert sum(REPLAYED in answer.headers for answer in answers) == CALLERS - 1
    assert server.sql("SELECT (SELECT count(*) FROM trials), (SELECT count(*) FROM experiments)") == [(2, 1)]
    report(server, "50 callers, one key", answers)


def test_fifty_twins_with_a_key_each_make_one_set_of_trials(server: Server, task_id: str) -> None:
    answers = at_once(server, CALLERS, lambda client, index: send(client, f"key-{index}", body(task_id)))
    assert Counter(answer.status_code for answer in answers) == {200: CALLERS}
    assert sum(REPLAYED in answer.headers for answer in answers) == 0
    created = [trial_id for answer in answers for trial_id in answer.json()["new_trial_ids"]]
    assert sorted(created) == [f"{task_id}-0", f"{task_id}-1"]
    assert server.sql("SELECT count(*) FROM trials") == [(2,)]
    report(server, "50 callers, 50 keys", answers)


def test_an_answer_that_was_lost_is_given_again(server: Server, task_id: str) -> None:
    """The caller learns that it was heard, and hangs up before it has read what the answer is."""
    headers = {"Idempotency-Key": "one"}
    with server.client().stream("POST", "/tasks/sweep", json=body(task_id), headers=headers) as stream:
        assert stream.status_code == 200
    assert server.sql("SELECT count(*) FROM trials") == [(2,)]
    again = send(server.client(), "one", body(task_id))
    assert again.headers[REPLAYED] == "true"
    assert again.json()["new_trial_ids"] == [f"{task_id}-0", f"{task_id}-1"]
    assert server.sql("SELECT count(*) FROM trials") == [(2,)]


def test_a_key_stands_for_one_request(server: Server, client: httpx2.Client, task_id: str) -> None:
    send(client, "one", body(task_id))
    other = send(client, "one", body(task_id, priority="high"))
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    assert "new key" in other.json()["fix"]
    reordered = json.dumps(dict(reversed(body(task_id).items())), indent=3)
    headers = {"Idempotency-Key": "one", "Content-Type": "application/json"}
    same = client.post("/tasks/sweep", content=reordered, headers=headers)
    assert (same.status_code, same.headers[REPLAYED]) == (200, "true")
    assert server.sql("SELECT count(*) FROM trials") == [(2,)]


def test_twins_with_different_requests_are_told_apart(server: Server, task_id: str) -> None:
    answers = at_once(
        server, 8, lambda client, index: send(client, "one", body(task_id, link=f"https://example.com/{index % 2}"))
    )
    statuses = Counter(answer.status_code for answer in answers)
    assert statuses == {200: 4, 409: 4}
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"idempotency_key_reused"}
    assert server.sql("SELECT count(*) FROM trials") == [(2,)]


def test_keys_of_other_routes_users_and_organisations_are_other_keys(
    server: Server, client: httpx2.Client, task_id: str, new_task: NewTask
) -> None:
    send(client, "one", body(task_id))
    assert send(client, "one", {"task_ids": [task_id]}, "/tasks/cancel").json()["trials_cancelled"] == 2
    stranger = server.client(server.key("a", org="other"))
    theirs = str(new_task("theirs").upload(stranger)["task_id"])
    answer = send(stranger, "one", body(theirs))
    assert (answer.status_code, REPLAYED in answer.headers) == (200, False)
    assert send(stranger, "one", body(task_id)).status_code == 409
    colleague = server.client(server.key("b"))
    answer = send(colleague, "one", body(task_id))
    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_key_reused")
    assert "Another user" in answer.json()["detail"]


@pytest.mark.parametrize("key", ["", "a b", "k" * 256, "ключ", "tab\there"])
def test_a_key_of_another_form_is_named(server: Server, client: httpx2.Client, task_id: str, key: str) -> None:
    headers = [(b"Idempotency-Key", key.encode()), (b"Content-Type", b"application/json")]
    answer = client.post("/tasks/sweep", content=json.dumps(body(task_id)), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert "Idempotency-Key" in answer.json()["detail"]
    assert server.sql("SELECT count(*) FROM trials") == [(0,)]


@pytest.mark.parametrize("key", ["!", "~" * 255, "0b5c-:/=+"])
def test_a_key_is_any_visible_ascii(client: httpx2.Client, task_id: str, key: str) -> None:
    assert send(client, key, body(task_id)).status_code == 200
    assert send(client, key, body(task_id)).headers[REPLAYED] == "true"


def test_a_call_with_two_keys_is_refused(server: Server, client: httpx2.Client, task_id: str) -> None:
    keys = [("Idempotency-Key", "one"), ("Idempotency-Key", "other")]
    refused = client.post("/tasks/sweep", json=body(task_id), headers=keys)
    assert refused.status_code == 400
    assert "more than one Idempotency-Key" in refused.json()["detail"]
    assert server.sql("SELECT count(*) FROM trials") == [(0,)]


def test_a_refusal_is_not_kept(server: Server, client: httpx2.Client, new_task: NewTask) -> None:
    task = str(new_task().upload(client)["task_id"])
    assert send(client, "one", body(task)).json()["code"] == "no_worker"
    assert server.sql("SELECT count(*) FROM idempotency_records") == [(0,)]
    server.offer()
    assert send(client, "one", body(task)).status_code == 200


def test_a_twin_of_a_refused_call_is_carried_out(server: Server, client: httpx2.Client, task_id: str) -> None:
    """The refusal comes after the record was inserted, and takes it along."""
    gone = body(task_id, content_hash="oddish1:feed")
    answers = at_once(server, 6, lambda client, _: send(client, "one", gone))
    assert Counter(answer.status_code for answer in answers) == {409: 6}
    assert {answer.json()["code"] for answer in answers} == {"unknown_content"}
    assert server.sql("SELECT count(*) FROM idempotency_records") == [(0,)]


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_what_came_to_nothing_is_asked_for_anew(
    server: Server, client: httpx2.Client, task_id: str, state: str
) -> None:
    send(client, "one", body(task_id))
    end_trials(server, "done", f"{task_id}-0")
    assert send(client, "one", body(task_id)).headers[REPLAYED] == "true"
    end_trials(server, state, f"{task_id}-1")
    anew = send(client, "one", body(task_id))
    assert (REPLAYED in anew.headers, anew.json()["new_trial_ids"]) == (False, [f"{task_id}-2"])
    again = send(client, "one", body(task_id))
    assert (again.headers[REPLAYED], again.content) == ("true", anew.content)
    assert server.sql("SELECT count(*) FROM idempotency_records") == [(1,)]
    end_trials(server, "failed", f"{task_id}-2")
    assert send(client, "one", body(task_id)).json()["new_trial_ids"] == [f"{task_id}-3"]


def test_a_failure_that_was_replaced_is_none(server: Server, client: httpx2.Client, task_id: str) -> None:
    first = send(client, "one", body(task_id))
    end_trials(server, "failed", f"{task_id}-0")
    assert send(client, "two", body(task_id)).json()["new_trial_ids"] == [f"{task_id}-2"]
    again = send(client, "one", body(task_id))
    assert (again.headers[REPLAYED], again.content) == ("true", first.content)


def test_twins_that_ask_anew_make_one_replacement(server: Server, client: httpx2.Client, task_id: str) -> None:
    send(client, "one", body(task_id))
    end_trials(server, "failed", f"{task_id}-0", f"{task_id}-1")
    answers = at_once(server, 20, lambda client, _: send(client, "one", body(task_id)))
    assert Counter(answer.status_code for answer in answers) == {200: 20}
    assert {tuple(answer.json()["new_trial_ids"]) for answer in answers} == {(f"{task_id}-2", f"{task_id}-3")}
    assert sum(REPLAYED in answer.headers for answer in answers) == 19
    assert server.sql("SELECT count(*) FROM trials") == [(4,)]


def test_a_call_that_created_nothing_is_no_excuse_for_a_later_failure(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    send(client, "one", body(task_id))
    assert send(client, "two", body(task_id)).json()["new_trial_ids"] == []
    end_trials(server, "failed", f"{task_id}-0")
    assert send(client, "two", body(task_id)).json()["new_trial_ids"] == [f"{task_id}-2"]


def test_an_answer_is_kept_for_as_long_as_the_deployment_says(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    send(client, "one", body(task_id))
    kept = "SELECT extract(epoch FROM expires_at - created_at)::int FROM idempotency_records"
    assert server.sql(kept) == [(7 * 86_400,)]
    server.sql("UPDATE idempotency_records SET expires_at = now() - interval '1 second'")
    late = send(client, "one", body(task_id, priority="high"))
    assert (late.status_code, REPLAYED in late.headers) == (200, False)
    assert server.sql(kept) == [(7 * 86_400,)]


def test_kept_answers_cannot_be_read_in_the_database(server: Server, client: httpx2.Client, task_id: str) -> None:
    secret = "correct-horse-battery"
    config = {"agent": "nop", "agent_config": {"env": {"API_KEY": secret}}}
    send(client, "a-key-of-mine", body(task_id, configs=[config]))
    target = send(client, "two", {"name": "new", "content_hash": "h"}, "/tasks/upload/init").json()
    ((rows,),) = server.sql("SELECT string_agg(row_to_json(r)::text, '') FROM idempotency_records r")
    for shown in (secret, "a-key-of-mine", target["upload_url"], task_id):
        assert shown not in str(rows)
        assert shown.encode().hex() not in str(rows)


def test_an_upload_is_begun_and_completed_once(server: Server, client: httpx2.Client, new_task: NewTask) -> None:
    folder = new_task()
    document = {"name": "hello", "content_hash": folder.content_hash, "force_new_version": True}
    begun = at_once(server, 8, lambda client, _: send(client, "init", document, "/tasks/upload/init"))
    assert len({answer.content for answer in begun}) == 1
    assert server.sql("SELECT count(*) FROM uploads") == [(1,)]
    target = begun[0].json()
    sent = httpx2.put(target["upload_url"], content=folder.archive, headers=target["upload_headers"])
    assert sent.status_code == 200
    completion = {"task_id": target["task_id"], "content_hash": folder.content_hash}
    done = at_once(server, 8, lambda client, _: send(client, "done", completion, "/tasks/upload/complete"))
    assert Counter(answer.status_code for answer in done) == {200: 8}
    assert len({answer.content for answer in done}) == 1
    assert server.sql("SELECT count(*) FROM task_versions") == [(1,)]
    assert send(client, "init", document, "/tasks/upload/init").headers[REPLAYED] == "true"


def test_a_signed_url_is_answered_again_only_while_it_is_valid(server: Server, client: httpx2.Client) -> None:
    document = {"name": "hello", "content_hash": "h"}
    first = send(client, "init", document, "/tasks/upload/init").json()
    kept = "SELECT extract(epoch FROM expires_at - created_at)::int FROM idempotency_records"
    assert server.sql(kept) == [(server.services.settings.upload_expiry_seconds,)]
    server.sql("UPDATE idempotency_records SET expires_at = now()")
    assert send(client, "init", document, "/tasks/upload/init").json()["upload_url"] != first["upload_url"]


def test_a_cancel_tells_what_it_has_cancelled(server: Server, client: httpx2.Client, task_id: str) -> None:
    send(client, "one", body(task_id, configs=[{"agent": "nop", "n_trials": 1200}]))
    document = {"task_ids": [task_id]}
    first = send(client, "stop", document, "/tasks/cancel")
    assert first.json()["trials_cancelled"] == 1200
    again = send(client, "stop", document, "/tasks/cancel")
    assert (again.headers[REPLAYED], again.content) == ("true", first.content)
    assert send(client, "other", document, "/tasks/cancel").json()["trials_cancelled"] == 0


def test_a_key_adds_three_statements_to_a_submission_and_a_repetition_takes_two(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    def statements(key: str | None) -> int:
        headers = {"Idempotency-Key": key} if key else {}
        with server.counting_statements() as counted:
            assert client.post("/tasks/sweep", json=body(task_id, tags={"n": "x"}), headers=headers).status_code == 200
        return len(counted)

    send(client, "warm", body(task_id))
    end_trials(server, "failed", f"{task_id}-0")
    with_key = statements("one")
    end_trials(server, "failed", f"{task_id}-1")
    without = statements(None)
    replay = statements("one")
    assert (with_key - without, replay) == (3, 2)
    assert without <= 20
    say(f"statements of a submission: {without} without a key, {with_key} with one, {replay} for a replay")


EVENTS = st.one_of(
    st.tuples(st.just("send"), st.sampled_from("ab"), st.integers(1, 3)),
    st.tuples(st.sampled_from(["done", "failed", "cancelled"]), st.integers(0, 2)),
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True, database=None)
@given(history=st.lists(EVENTS, min_size=4, max_size=14))
def test_no_history_of_calls_and_endings_makes_a_trial_twice_or_leaves_one_out(
    server: Server, client: httpx2.Client, task_id: str, history: list[tuple[Any, ...]]
) -> None:
    experiment = uuid.uuid4().hex
    of_experiment = "FROM trials JOIN experiments ON experiments.id = experiment_id WHERE experiments.name = %s"
    requests: dict[str, dict[str, object]] = {}
    answers: dict[str, bytes] = {}
    created: list[str] = []
    for event in history:
        if event[0] != "send":
            waiting = server.sql(f"SELECT trials.id {of_experiment} AND status = 'queued' ORDER BY 1", experiment)
            end_trials(server, event[0], *(str(trial_id) for (trial_id,) in waiting[: event[1]]))
            continue
        _, name, count = event
        key = name + experiment
        wanted = body(task_id, configs=[{"agent": "nop", "n_trials": count}], experiment_id=experiment)
        live = dict(server.sql(f"SELECT status, count(*) {of_experiment} AND {LIVE} GROUP BY status", experiment))
        answer = send(client, key, wanted)
        if requests.setdefault(key, wanted) != wanted:
            assert answer.status_code == 409
            continue
        assert answer.status_code == 200
        if REPLAYED in answer.headers:
            assert answer.content == answers[key]
        else:
            new = answer.json()["new_trial_ids"]
            assert len(new) == max(0, count - sum(live.values()) + live.get("failed", 0))
            created += new
        answers[key] = answer.content
    assert [trial_id for (trial_id,) in server.sql(f"SELECT trials.id {of_experiment} ORDER BY 1", experiment)] == (
        sorted(created)
    )
