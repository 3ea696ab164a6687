import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oddish.backup import contents
from oddish.backup.contents import Contents
from oddish.backup.taking import take
from oddish.errors import Conflict, InvalidInput, Unavailable
from oddish.stack.layout import Layout
from oddish.stack.lock import open_lock, try_lock

from .conftest import ARCHIVE, EXPORT, PREFIX, WORKSPACE, running


def backup(place: Path, where: Layout, *, with_store: bool = False, with_key: bool = False) -> tuple[Path, Contents]:
    return take(place, where, with_store=with_store, with_key=with_key, say=lambda line: None)


def test_it_holds_the_database_and_says_what_is_in_it(where: Layout, tmp_path: Path) -> None:
    path, described = backup(tmp_path / "backups", where)
    assert sorted(entry.name for entry in path.iterdir()) == ["backup.json", "database.dump"]
    assert (described.tasks, described.trials, described.files) == (1, 1, 0)
    assert described.dump_sha256 == contents.sha256(path / "database.dump")
    assert contents.read(path) == described
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_it_has_every_file_that_the_database_names(where: Layout, tmp_path: Path) -> None:
    (where.store / "of-nobody").write_text("no row names it")
    path, described = backup(tmp_path, where, with_store=True)
    listed = {entry.key: entry.sha256 for entry in contents.read_list(path)}
    assert set(listed) == {
        ARCHIVE,
        WORKSPACE,
        EXPORT,
        f"{PREFIX}/agent/log %231.txt",
        f"{PREFIX}/manifest.json",
        f"{PREFIX}/result.json",
    }
    assert {key: contents.sha256(path / "store" / key) for key in listed} == listed
    assert (described.missing, described.damaged) == ((), ())


def test_a_second_one_shares_its_files_with_the_first_and_does_not_need_it(where: Layout, tmp_path: Path) -> None:
    first, _ = backup(tmp_path, where, with_store=True)
    second, described = backup(tmp_path, where, with_store=True)
    assert (second / "store" / ARCHIVE).samefile(first / "store" / ARCHIVE)
    assert not (first / "store" / ARCHIVE).samefile(where.store / ARCHIVE)
    shutil.rmtree(first)
    assert (second / "store" / ARCHIVE).read_bytes() == b"archive"
    assert described.files == 6
    assert contents.find(tmp_path) == second


def test_a_link_in_an_earlier_backup_is_not_shared(where: Layout, tmp_path: Path) -> None:
    first, _ = backup(tmp_path, where, with_store=True)
    archive = first / "store" / ARCHIVE
    archive.unlink()
    (tmp_path / "outside").write_bytes(b"ARCHIVE")
    archive.symlink_to(tmp_path / "outside")
    second, _ = backup(tmp_path, where, with_store=True)
    assert not (second / "store" / ARCHIVE).is_symlink()
    assert (second / "store" / ARCHIVE).read_bytes() == b"archive"


def test_a_damaged_list_in_an_earlier_backup_does_not_keep_a_new_one_from_being_made(
    where: Layout, tmp_path: Path
) -> None:
    first, _ = backup(tmp_path, where, with_store=True)
    (first / "store.jsonl").write_text("{\n")
    said: list[str] = []
    second, described = take(tmp_path, where, with_store=True, with_key=False, say=said.append)
    assert any("store.jsonl, line 1, names no file" in line for line in said)
    assert (second / "store" / ARCHIVE).read_bytes() == b"archive"
    assert described.files == 6


def test_files_that_the_store_lost_or_changed_are_named(where: Layout, tmp_path: Path) -> None:
    (where.store / ARCHIVE).unlink()
    (where.store / PREFIX / "result.json").write_text("[]")
    _, described = backup(tmp_path, where, with_store=True)
    assert (described.missing, described.damaged) == ((ARCHIVE,), (f"{PREFIX}/result.json",))


def test_the_secret_key_is_in_it_on_request_only_and_private(where: Layout, tmp_path: Path) -> None:
    without, described = backup(tmp_path, where)
    assert not (without / "secret.key").exists()
    assert not described.key_included
    path, described = backup(tmp_path, where, with_key=True)
    assert (path / "secret.key").read_bytes() == (where.home / "secret.key").read_bytes()
    assert stat.S_IMODE((path / "secret.key").stat().st_mode) == 0o600
    assert described.key_included


def test_a_key_that_is_a_variable_is_not_written_to_a_file(
    where: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_SECRET_KEY", (where.home / "secret.key").read_text())
    with pytest.raises(InvalidInput, match="ODDISH_SECRET_KEY, which is not written"):
        backup(tmp_path / "backups", where, with_key=True)
    assert contents.backups(tmp_path / "backups") == []


def test_what_a_killed_one_left_is_removed_by_the_next(where: Layout, tmp_path: Path) -> None:
    (tmp_path / "backups" / ".partial-killed" / "store").mkdir(parents=True)
    path, _ = backup(tmp_path / "backups", where)
    assert sorted(entry.name for entry in (tmp_path / "backups").iterdir()) == [".lock", path.name]


def test_one_that_fails_leaves_nothing(where: Layout, tmp_path: Path) -> None:
    with running(where) as connection:
        connection.execute("DROP TABLE alembic_version")
    with pytest.raises(InvalidInput, match="no schema yet"):
        backup(tmp_path / "backups", where)
    assert [entry.name for entry in (tmp_path / "backups").iterdir()] == [".lock"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Makes a disk of a size, which only root can."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = False

    def sized(size: str) -> Path:
        nonlocal mounted
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        mounted = shutil.which("mount") is not None and not subprocess.run(command, check=False).returncode
        if not mounted:
            pytest.skip("a disk of a chosen size cannot be mounted here")
        return place

    yield sized
    if mounted:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.parametrize(("size", "failed"), [("16k", "pg_dump failed"), ("1m", "The backup was not made")])
def test_a_disk_that_fills_up_is_named_and_has_no_backup(
    where: Layout, disk: Callable[[str], Path], size: str, failed: str
) -> None:
    (where.store / ARCHIVE).write_bytes(os.urandom(2_000_000))
    place = disk(size)
    with pytest.raises(Unavailable, match=rf"(?s){failed}.*No space left on device") as refused:
        backup(place, where, with_store=True)
    assert str(place) in str(refused.value.fix)
    assert [entry.name for entry in place.iterdir()] == [".lock"]


@pytest.mark.parametrize("name", ["store", "store/backups", "postgres", "link"])
def test_what_is_backed_up_is_no_place_for_backups(where: Layout, name: str) -> None:
    (where.home / "link").symlink_to(where.store)
    with pytest.raises(InvalidInput, match="which they are made of"):
        backup(where.home / name, where)
    assert not (where.home / name / ".lock").exists()


def test_two_at_once_in_one_place_are_refused(where: Layout, tmp_path: Path) -> None:
    lock = open_lock(tmp_path / ".lock")
    try:
        assert try_lock(lock)
        with pytest.raises(Conflict, match="is being made"):
            backup(tmp_path, where)
    finally:
        os.close(lock)


def test_a_home_where_no_stack_has_run_has_nothing_to_back_up(elsewhere: Layout, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nothing to back up"):
        backup(tmp_path / "backups", elsewhere)


def test_the_database_of_a_deployment_is_left_to_its_own_tools(
    where: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", "postgresql+psycopg://me:secret@db.example.com/oddish")
    with pytest.raises(InvalidInput, match=r"db\.example\.com.*provider") as refused:
        backup(tmp_path / "backups", where)
    assert "secret" not in str(refused.value)
