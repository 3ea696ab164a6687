"""The doctor beside a real database, a real store and a taken port."""

import socket
from pathlib import Path
from urllib.parse import quote

import pytest

from oddish.db.revision import HEAD
from oddish.doctor import database, localstack, store
from oddish.doctor.finding import Finding


def by_subject(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.subject: finding for finding in findings}


def test_a_migrated_database_is_fine_and_its_clock_is_ours(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", database_url)
    found = by_subject(list(database.look()))
    assert {finding.level for finding in found.values()} == {"ok"} or "power failure" in found["Database"].found
    assert found["Clock skew"].level == "ok"


def test_a_database_without_a_schema_is_a_warning(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = database_url.partition("?")[0].rpartition("/")[2]
    monkeypatch.setenv("ODDISH_DATABASE_URL", database_url.replace(f"/{name}", "/template1", 1))
    found = by_subject(list(database.look()))["Database"]
    assert found.level == "warning"
    assert "no schema yet" in found.found
    assert HEAD not in found.found


def test_a_database_that_does_not_answer_is_a_problem_and_the_password_stays_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = f"postgresql+psycopg://me:hunter22@/x?host={quote(str(tmp_path), safe='/')}"
    monkeypatch.setenv("ODDISH_DATABASE_URL", url)
    (found,) = database.look()
    assert found.level == "problem"
    assert "ODDISH_DATABASE_URL" in str(found.fix)
    assert "hunter22" not in found.found
    monkeypatch.setenv("ODDISH_DATABASE_URL", f"{url}&nonsense=1")
    (unreadable,) = database.look()
    assert "nonsense" in unreadable.found
    assert "hunter22" not in unreadable.found


def test_a_look_at_the_store_leaves_it_as_it_was(oddish_home: Path) -> None:
    (before,) = store.look()
    assert (before.level, oddish_home.exists()) == ("ok", False)
    (oddish_home / "store" / "trials").mkdir(parents=True)
    (oddish_home / "store" / "trials" / "kept").write_text("kept")
    (found,) = store.look()
    assert (found.level, "written, read, deleted" in found.found) == ("ok", True)
    assert sorted(path.name for path in oddish_home.rglob("*") if path.name != ".staging") == [
        "kept",
        "store",
        "trials",
    ]


def test_a_store_that_is_no_store_is_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for url in ("ftp://somewhere/x", (tmp_path / "file").as_uri()):
        monkeypatch.setenv("ODDISH_STORAGE_URL", url)
        (found,) = store.look()
        assert found.level == "problem"
        assert found.fix


def test_without_a_stack_the_port_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("ODDISH_PORT", str(taken.getsockname()[1]))
        found = by_subject(list(localstack.look_at_stack()))
    assert found["Local stack"].level == "ok"
    assert found["Port"].level == "warning"


def test_postgresql_can_run_here() -> None:
    found = list(localstack.look_at_programs())
    assert [finding.level for finding in found] == ["ok", "ok"]
    assert [finding.subject for finding in found] == ["PostgreSQL programs", "PostgreSQL account"]


def test_missing_programs_are_a_problem_unless_a_database_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(localstack.binaries, "_wheel", lambda: iter(()))
    monkeypatch.setattr(localstack.binaries, "_system", lambda: iter(()))
    (found,) = localstack.look_at_programs()
    assert found.level == "problem"
    assert "oddish[embedded]" in str(found.fix)
    monkeypatch.setenv("ODDISH_DATABASE_URL", "postgresql+psycopg://db/x")
    (not_needed,) = localstack.look_at_programs()
    assert not_needed.level == "ok"
