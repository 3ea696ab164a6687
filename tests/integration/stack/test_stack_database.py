from pathlib import Path

import psycopg
import pytest

from oddish.db.revision import HEAD
from oddish.db.url import plain
from oddish.errors import Unavailable
from oddish.stack import database
from oddish.stack.postgres import EmbeddedPostgres


def test_the_database_fixture_is_at_the_newest_revision(database_url: str) -> None:
    assert database.schema(database_url).revision == HEAD


@pytest.mark.parametrize("attempt", [1, 2])
def test_no_test_sees_the_tables_of_another(database_url: str, attempt: int) -> None:
    with psycopg.connect(plain(database_url)) as connection:
        connection.execute("CREATE TABLE only_here (x int)")


def test_an_empty_database_has_no_revision(tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path / "postgres", durable=False) as server:
        assert database.schema(server.url()).revision is None


def test_a_database_that_cannot_be_asked_is_an_error_with_the_fix(database_url: str) -> None:
    with pytest.raises(Unavailable, match=r'database "\w+absent" does not exist.*ODDISH_DATABASE_URL'):
        database.schema(database_url.replace("?", "absent?"))


@pytest.mark.parametrize(
    ("state", "unfinished"),
    [
        ("held", True),
        ("ready", True),
        ("scheduled", True),
        ("running", True),
        ("done", False),
        ("failed", False),
        ("cancelled", False),
    ],
)
def test_jobs_that_may_still_run_are_unfinished(database_url: str, state: str, unfinished: bool) -> None:
    assert not database.has_unfinished_jobs(database_url)
    with psycopg.connect(plain(database_url)) as connection:
        connection.execute("SET session_replication_role = replica")  # no foreign keys: only the state matters here
        connection.execute(
            "INSERT INTO jobs"
            " (org_id, kind, subject_id, pool, key, lane, state, max_attempts, group_id, run_at, worker_id)"
            " SELECT 'o', 'trial', 't', 'p', 'k', 'l', state, 1, CASE state WHEN 'held' THEN 'g' END,"
            " CASE state WHEN 'scheduled' THEN now() END, CASE state WHEN 'running' THEN 'w' END"
            " FROM (SELECT %s::text AS state) AS wanted",
            [state],
        )
    assert database.has_unfinished_jobs(database_url) is unfinished


@pytest.mark.parametrize(("due_at", "unfinished"), [("2099-01-01", True), (None, False)])
def test_what_a_callback_is_owed_is_unfinished(database_url: str, due_at: str | None, unfinished: bool) -> None:
    with psycopg.connect(plain(database_url)) as connection:
        connection.execute("SET session_replication_role = replica")  # no job: only what is owed matters here
        connection.execute(
            "INSERT INTO gateway_callbacks (job_id, kind, org_id, url, events, due_at)"
            " VALUES ('gw_1', 'writeback', 'o', 'http://a/', '{job.finished}', %s)",
            [due_at],
        )
    assert database.has_unfinished_jobs(database_url) is unfinished


def test_a_database_that_does_not_answer_may_have_unfinished_jobs() -> None:
    assert database.has_unfinished_jobs("postgresql+psycopg://oddish@/oddish?host=/nowhere&port=1")
