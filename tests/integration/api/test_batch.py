"""Many submissions in one call: each stands or falls by itself, and is repeatable by itself."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from .serving import Server, TaskFolder

REPLAYED = "Idempotency-Replayed"


@pytest.fixture
def task_ids(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> list[str]:
    server.offer()
    return [str(new_task(f"task-{index}").upload(client)["task_id"]) for index in range(3)]


def submission(task_id: str, **members: object) -> dict[str, object]:
    return {"task_id": task_id, "configs": [{"agent": "nop", "n_trials": 2}], "experiment_id": "mine", **members}


def send(client: httpx2.Client, submissions: object, key: str | None = None) -> httpx2.Response:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post("/tasks/sweep/batch", json={"submissions": submissions}, headers=headers)


def test_a_batch_is_answered_item_by_item(server: Server, client: httpx2.Client, task_ids: list[str]) -> None:
    answer = send(client, [submission(task_id) for task_id in task_ids])
    assert answer.status_code == 200
    assert int(answer.headers["oddish-submit-concurrency"]) >= 4
    document = answer.json()
    assert (document["total"], document["succeeded"], document["failed"]) == (3, 3, 0)
    assert [result["index"] for result in document["results"]] == [0, 1, 2]
    assert [result["task"]["id"] for result in document["results"]] == task_ids
    assert all(result["success"] and result["status_code"] == 200 for result in document["results"])
    assert all("error" not in result for result in document["results"])
    assert server.sql("SELECT count(*) FROM trials") == [(6,)]
    assert server.sql("SELECT count(*) FROM experiments") == [(1,)]


def test_what_its_items_have_in_common_is_looked_up_once(
    server: Server, client: httpx2.Client, task_ids: list[str]
) -> None:
    with server.counting_statements() as statements:
        assert send(client, [submission(task_id) for task_id in task_ids]).status_code == 200
    for part in ("FROM publications", "INSERT INTO queue_keys", "INSERT INTO queue_lanes", "INSERT INTO queue_caps"):
        assert sum(part in statement for statement in statements) == 1, part


BAD: list[tuple[object, int, str, str]] = [
    ({"configs": [{"agent": "nop"}]}, 422, "validation", "task_id"),
    ("hello", 422, "validation", "body"),
    (None, 422, "validation", "body"),
    ({"task_id": "t", "configs": [{"agent": "nop", "n_trials": 0}]}, 422, "validation", "configs.0.n_trials"),
    ({"task_id": "t", "configs": [{"agent": "nop"}], "user": "\x00"}, 422, "validation", "user"),
    (submission("absent-00000000"), 404, "not_found", "absent-00000000"),
    (submission("t", configs=[{"agent": "orakel"}]), 404, "not_found", "'t'"),
    (submission("t", configs=[{"agent": "nop", "agent_config": {"env": {"A_KEY": "sk-12345\x00"}}}]), 422, "", "A_KEY"),
]


@pytest.mark.parametrize(("bad", "status", "code", "named"), BAD)
def test_what_is_wrong_with_one_item_leaves_the_others(
    server: Server, client: httpx2.Client, task_ids: list[str], bad: object, status: int, code: str, named: str
) -> None:
    answer = send(client, [submission(task_ids[0]), bad, submission(task_ids[2])])
    assert answer.status_code == 207
    document = answer.json()
    assert (document["total"], document["succeeded"], document["failed"]) == (3, 2, 1)
    refused = document["results"][1]
    assert (refused["index"], refused["success"], refused["status_code"]) == (1, False, status)
    assert "task" not in refused
    assert refused["error"]["status"] == status
    assert refused["error"]["code"] == code or not code
    assert named in refused["error"]["detail"]
    assert "sk-12345" not in answer.text
    assert server.sql("SELECT count(*) FROM trials") == [(4,)]


@pytest.mark.parametrize("submissions", [[], [{}] * 101, "x", None])
def test_a_batch_has_1_to_100_items(client: httpx2.Client, submissions: object) -> None:
    answer = send(client, submissions)
    assert (answer.status_code, answer.json()["code"]) == (422, "validation")


def test_a_batch_of_refusals_alone_is_no_error_of_the_call(client: httpx2.Client, task_ids: list[str]) -> None:
    answer = send(client, [submission("absent")] * 2)
    assert (answer.status_code, answer.json()["failed"]) == (207, 2)


def test_a_repeated_batch_does_what_is_left(server: Server, client: httpx2.Client, task_ids: list[str]) -> None:
    wanted = [submission(task_ids[0]), submission(task_ids[1], environment="docker"), submission(task_ids[2])]
    first = send(client, wanted, "one")
    assert first.status_code == 207
    server.offer("docker")
    second = send(client, wanted, "one")
    assert (second.status_code, REPLAYED in second.headers) == (200, False)
    for index in (0, 2):
        assert second.json()["results"][index] == first.json()["results"][index]
    third = send(client, wanted, "one")
    assert (third.headers[REPLAYED], third.json()) == ("true", second.json())
    assert server.sql("SELECT count(*) FROM trials") == [(6,)]


def test_equal_items_of_a_batch_are_two(client: httpx2.Client, task_ids: list[str]) -> None:
    anonymous = {"task_id": task_ids[0], "configs": [{"agent": "nop"}]}
    first = send(client, [anonymous, anonymous], "one").json()
    assert len({result["task"]["experiment_id"] for result in first["results"]}) == 2
    assert send(client, [anonymous, anonymous], "one").json() == first
    assert send(client, [anonymous], "one").json()["results"] == first["results"][:1]


def test_twins_of_a_batch_make_one_set_of_trials(server: Server, task_ids: list[str]) -> None:
    wanted = [{"task_id": task_id, "configs": [{"agent": "nop", "n_trials": 2}]} for task_id in task_ids]
    barrier = threading.Barrier(12)
    clients = [server.client() for _ in range(12)]

    def start(client: httpx2.Client) -> httpx2.Response:
        barrier.wait()
        return send(client, wanted, "one")

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(start, clients))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert server.sql("SELECT (SELECT count(*) FROM trials), (SELECT count(*) FROM experiments)") == [(6, 3)]


def test_an_item_takes_as_many_statements_as_a_submission(
    server: Server, client: httpx2.Client, task_ids: list[str]
) -> None:
    def statements(*tasks: str) -> int:
        with server.counting_statements() as counted:
            assert send(client, [submission(task_id) for task_id in tasks], "-".join(tasks)).status_code == 200
        return len(counted)

    assert statements(task_ids[0]) * 2 >= statements(*task_ids[1:])
    with server.counting_statements() as single:
        client.post("/tasks/sweep", json=submission(task_ids[0], tags={"a": "b"}), headers={"Idempotency-Key": "x"})
    assert statements(task_ids[0]) <= len(single)
