"""A home directory as a stack leaves it: a database with one trial and its files, a secret key."""

import asyncio
import functools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from oddish.backup.taking import take
from oddish.db import migration
from oddish.db.url import plain
from oddish.keyring import load_keyring
from oddish.stack.layout import Layout
from oddish.stack.postgres import EmbeddedPostgres
from oddish.storage.manifest import upload_tree
from oddish.storage.store import ArtifactStore

ARCHIVE, PREFIX = "tasks/task/1.tar.gz", "trials/trial/1-00000000"
WORKSPACE, EXPORT = "workspaces/o/1.tar.gz", "exports/o/1.tar.gz"
ROWS = f"""
INSERT INTO organisations (id, name) VALUES ('o', 'o');
INSERT INTO users (id, org_id, name, role) VALUES ('u', 'o', 'u', 'admin');
INSERT INTO tasks (id, org_id, name, created_by) VALUES ('task', 'o', 'task', 'u');
INSERT INTO task_versions (id, org_id, task_id, version, content_hash, client_hash, archive_key, archive_bytes,
  definition, created_by) VALUES ('task@1', 'o', 'task', 1, 'h', 'h', '{ARCHIVE}', 7, '{{}}', 'u');
INSERT INTO experiments (id, org_id, name, created_by) VALUES ('e', 'o', 'e', 'u');
INSERT INTO trials (id, org_id, task_id, task_version_id, task_version, experiment_id, trial_index, name, agent,
  provider, queue_key, environment, unit_hash, created_by, max_attempts)
  VALUES ('trial', 'o', 'task', 'task@1', 1, 'e', 0, 'trial', 'oracle', 'p', 'k', 'local', '\\x00', 'u', 1);
INSERT INTO attempts (trial_id, epoch, org_id, job_id, claim_id, worker_id, state, artifact_prefix)
  VALUES ('trial', 1, 'o', 1, gen_random_uuid(), 'w', 'finished', '{PREFIX}');
INSERT INTO gateway_jobs (id, org_id, created_by, kind, task_slug, require_verifier_evidence, workspace_key)
  VALUES ('gw', 'o', 'u', 'verify', 'task', true, '{WORKSPACE}');
INSERT INTO exports (org_id, project, dataset, object_key, sha256, bytes, exported_by)
  VALUES ('o', 'project', 'dataset', '{EXPORT}', 'h', 6, 'u');
"""  # noqa: S608 - constants


@contextmanager
def running(where: Layout) -> Iterator[psycopg.Connection]:
    with (
        EmbeddedPostgres(where.postgres, durable=False) as server,
        psycopg.connect(plain(server.url()), autocommit=True) as connection,
    ):
        yield connection


def trials(where: Layout) -> list[tuple]:
    with running(where) as connection:
        return connection.execute("SELECT id, status FROM trials ORDER BY id").fetchall()


@pytest.fixture(scope="session")
def used_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("backup")
    where = Layout(directory / "home")
    where.create()
    with EmbeddedPostgres(where.postgres, durable=False) as server:
        migration.upgrade(server.url())
        with psycopg.connect(plain(server.url()), autocommit=True) as connection:
            connection.execute(ROWS.encode())
    load_keyring(None, where.home)
    tree = directory / "tree"
    (tree / "agent").mkdir(parents=True)
    (tree / "agent" / "log #1.txt").write_text("it did")
    (tree / "result.json").write_text("{}")
    store = ArtifactStore.open(where.store.as_uri())
    asyncio.run(store.put(ARCHIVE, b"archive"))
    asyncio.run(store.put(WORKSPACE, b"workspace"))
    asyncio.run(store.put(EXPORT, b"export"))
    asyncio.run(upload_tree(store, tree, PREFIX))
    return where.home


@pytest.fixture
def where(oddish_home: Path, used_home: Path) -> Layout:
    """A copy of that home, which is the test's own."""
    shutil.copytree(used_home, oddish_home, symlinks=True)
    return Layout(oddish_home)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """An empty home, which commands of the test use from here on."""
    home = tmp_path / "elsewhere"
    monkeypatch.setenv("ODDISH_HOME", str(home))
    return Layout(home)


@pytest.fixture(scope="session")
def taken(used_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool, bool], Path]:
    """A backup of the used home, made when it is first asked for."""

    @functools.cache
    def taken(with_store: bool, with_key: bool) -> Path:
        place = tmp_path_factory.mktemp("backups")
        made, _ = take(place, Layout(used_home), with_store=with_store, with_key=with_key, say=lambda line: None)
        return made

    return taken


@pytest.fixture
def made(taken: Callable[[bool, bool], Path], tmp_path: Path) -> Callable[..., Path]:
    """Gives the test a backup of the used home that is its own, in ``backups``."""

    def copy(*, with_store: bool = False, with_key: bool = False) -> Path:
        kept = taken(with_store, with_key)
        return shutil.copytree(kept, tmp_path / "backups" / kept.name, symlinks=True)

    return copy
