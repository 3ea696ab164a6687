"""What a submission and ``POST /tasks/{id}/tags`` say of a task: kept, merged, bounded, and found again."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from sqlalchemy import NullPool, create_engine, event, select

from oddish.db.tables import tasks
from oddish.tags import MOST_TAGS, Tag
from oddish.tasks.tags import carries

from .serving import Server, TaskFolder

REFUSED: list[tuple[dict[str, object], str]] = [
    ({"tags": {"two words": ""}}, "the name 'two words'"),
    ({"tags": {f"t{number}": "" for number in range(MOST_TAGS + 1)}}, "tags"),
    ({"link": "javascript:alert(1)"}, "neither http"),
    ({"link": "https://me:secret@example.com"}, "holds a login"),
    ({"github_meta": ["a"]}, "github_meta"),
    ({"github_meta": {"a": "x" * 20_000}}, "more than 16384"),
    ({"run_analysis": "soon"}, "run_analysis"),
    ({"skill_ids": ["cheats"]}, "skill_ids is not supported"),
]


@pytest.fixture
def task_id(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> str:
    server.offer()
    return str(new_task().upload(client)["task_id"])


def sweep(client: httpx2.Client, task_id: str, **members: object) -> httpx2.Response:
    body = {"task_id": task_id, "configs": [{"agent": "nop"}], "experiment_id": "mine", **members}
    return client.post("/tasks/sweep", json=body)


def change(client: httpx2.Client, task_id: str, key: str | None = None, **members: object) -> httpx2.Response:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(f"/tasks/{task_id}/tags", json=members, headers=headers)


def test_what_is_said_of_a_task_is_shown_and_pays_nobody_else(
    server: Server, client: httpx2.Client, task_id: str
) -> None:
    said = {
        "user": "ada",
        "github_username": "octocat",
        "github_meta": {"pr": 12, "labels": ["a"]},
        "link": "https://example.com/pull/12",
        "tags": {"benchmark": "", "suite": "nightly"},
        "run_analysis": True,
        "run_probe": True,
    }
    submitted = sweep(client, task_id, **said)
    assert submitted.status_code == 200, submitted.text
    assert submitted.json()["user_tags"] == said["tags"]
    shown = client.get(f"/tasks/{task_id}").json()
    assert {name: shown["user_tags" if name == "tags" else name] for name in said} == said
    lanes = server.sql("SELECT DISTINCT j.lane, t.created_by FROM jobs j JOIN trials t ON t.id = j.subject_id")
    assert lanes == [("admin", "admin")]


def test_what_a_later_submission_leaves_out_stays(server: Server, client: httpx2.Client, task_id: str) -> None:
    server.sql("UPDATE users SET github_username = 'linked' WHERE id = 'admin'")
    sweep(client, task_id, link="https://example.com/1", tags={"a": "", "b": "1"}, run_probe=True)
    assert client.get(f"/tasks/{task_id}").json()["github_username"] == "linked"
    server.sql("UPDATE users SET github_username = 'renamed' WHERE id = 'admin'")
    sweep(client, task_id, tags={"b": "2"}, run_analysis=True, run_probe=False, publish_experiment=None)
    shown = client.get(f"/tasks/{task_id}").json()
    assert (shown["link"], shown["github_username"]) == ("https://example.com/1", "linked")
    assert (shown["run_analysis"], shown["run_probe"]) == (True, True)
    assert shown["user_tags"] == {"a": "", "b": "2"}


def test_a_label_that_is_refused_creates_nothing(server: Server, client: httpx2.Client, task_id: str) -> None:
    for member, words in REFUSED:
        refused = sweep(client, task_id, **member)
        assert (refused.status_code, refused.json()["code"]) == (422, "validation"), member
        assert words in refused.json()["detail"]
    assert server.sql("SELECT (SELECT count(*) FROM trials), (SELECT count(*) FROM experiments)") == [(0, 0)]


def test_tags_are_added_and_taken_away_once_however_often_it_is_sent(client: httpx2.Client, task_id: str) -> None:
    first = change(client, task_id, "k1", add={"wip": "", "suite": "a"}, remove=["absent"])
    assert first.json() == {"task_id": task_id, "name": "hello", "user_tags": {"wip": "", "suite": "a"}}
    second = change(client, task_id, "k2", add={"suite": "b"}, remove=["wip"])
    assert second.json()["user_tags"] == {"suite": "b"}
    assert change(client, task_id, "k1", add={"wip": "", "suite": "a"}, remove=["absent"]).content == first.content
    assert client.get(f"/tasks/{task_id}").json()["user_tags"] == {"suite": "b"}
    assert change(client, task_id, "k1", add={"other": ""}).status_code == 409


def test_a_task_carries_so_many_tags_however_they_come(client: httpx2.Client, task_id: str) -> None:
    full = {f"t{number}": "" for number in range(MOST_TAGS)}
    assert change(client, task_id, add=full).status_code == 200
    for refused in (change(client, task_id, add={"more": ""}), sweep(client, task_id, tags={"more": ""})):
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_tag")
    assert change(client, task_id, add={"more": ""}, remove=["t0"]).status_code == 200
    shown = client.get(f"/tasks/{task_id}").json()
    assert (len(shown["user_tags"]), shown["total"]) == (MOST_TAGS, 0)


def test_tasks_are_found_by_their_tags_through_an_index(
    server: Server, database_url: str, client: httpx2.Client, task_id: str
) -> None:
    change(client, task_id, add={"suite": "nightly", "wip": ""})
    server.sql(
        "INSERT INTO tasks (id, org_id, name, created_by, current_version, tags) SELECT 't' || n, org_id, 't' || n, "
        """created_by, 1, '{"other": "x"}' FROM tasks, generate_series(1, 3000) n"""
    )
    server.sql("VACUUM ANALYZE tasks")
    engine = create_engine(database_url, poolclass=NullPool)
    sent: list[tuple[str, Any]] = []
    event.listen(engine, "before_cursor_execute", lambda _, __, *statement: sent.append((statement[0], statement[1])))
    with engine.begin() as connection:
        for written, there in (("wip", True), ("suite", True), ("suite=nightly", True), ("suite=weekly", False)):
            wanted = select(tasks.c.id).where(carries(Tag.of(written)), tasks.c.deleted_at.is_(None))
            assert list(connection.scalars(wanted)) == ([task_id] if there else []), written
            statement, parameters = sent[-1]
            plan = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)
            assert "tasks_tags" in "\n".join(plan.scalars())
