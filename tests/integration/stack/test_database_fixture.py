import psycopg
import pytest

from oddish.db.revision import HEAD


@pytest.mark.parametrize("attempt", [1, 2])
def test_each_test_gets_a_migrated_database_without_rows_of_others(database_url: str, attempt: int) -> None:
    with psycopg.connect(database_url.replace("+psycopg", "")) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(HEAD,)]
        connection.execute("CREATE TABLE only_here (x int)")
