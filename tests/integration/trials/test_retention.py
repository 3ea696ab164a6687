"""What is past its time goes: secrets, answers to repeated calls, and uploads that nobody completed."""

from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.identity.idempotency import delete_expired_records
from oddish.keyring import load_keyring
from oddish.settings import Settings
from oddish.storage.store import ArtifactStore
from oddish.tasks.retention import delete_abandoned_uploads
from oddish.trials.retention import delete_expired_secrets
from support.deployments import ORG, USER, Deployment

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).parents[3] / "examples" / "hello-world"


@pytest.fixture
async def deployment(engine: AsyncEngine, oddish_home: Path, database_url: str) -> Deployment:
    settings = Settings(home=oddish_home, database_url=database_url)
    store = ArtifactStore.open(settings.storage_url)
    deployment = Deployment(settings, engine, store, load_keyring(None, oddish_home), "harbor/test")
    await deployment.prepare()
    return deployment


async def test_expired_secrets_are_deleted_and_their_trials_stay(deployment: Deployment) -> None:
    task_id = await deployment.task(EXAMPLE)
    old, new = [
        await deployment.submit(task_id, index=index, secret_env={"API_KEY": "correct-horse"}) for index in range(2)
    ]
    expired = text(
        "UPDATE secrets SET expires_at = now() - interval '1 s' FROM trials WHERE trials.id = :id"
        " AND trials.secret_id = secrets.id"
    )
    async with deployment.database.begin() as connection:
        await connection.execute(expired, {"id": old})
        assert await delete_expired_secrets(connection) == 1
    assert (await deployment.trial(old))["secret_id"] is None
    assert (await deployment.trial(new))["secret_id"] is not None


async def test_abandoned_uploads_go_with_their_archives(deployment: Deployment) -> None:
    kept = await deployment.task(EXAMPLE)
    insert = text("""
        INSERT INTO uploads (id, org_id, user_id, task_id, client_hash, object_key,
          created_at, expires_at, completed_at)
        VALUES (:id, :org, :user, :task, '', :key, now() - interval '3 days', now() - interval '2 days', :completed)
    """)
    reserve = text(
        "INSERT INTO tasks (id, org_id, name, created_by, created_at)"
        " VALUES ('reserved-0', :org, 'reserved', :user, now() - interval '3 days')"
    )
    async with deployment.database.begin() as connection:
        await connection.execute(reserve, {"org": ORG, "user": USER})
        for name, task, completed in (("gone", "reserved-0", None), ("done", kept, "2030-01-01T00:00:00Z")):
            key = f"tasks/{task}/uploads/{name}.tar.gz"
            await deployment.store.put(key, b"archive")
            await connection.execute(
                insert, {"id": name, "org": ORG, "user": USER, "task": task, "key": key, "completed": completed}
            )
    assert await delete_abandoned_uploads(deployment.database, deployment.store) == 1
    async with deployment.database.connect() as connection:
        assert list(await connection.scalars(text("SELECT id FROM uploads"))) == ["done"]
        assert list(await connection.scalars(text("SELECT id FROM tasks"))) == [kept]
    assert not await deployment.store.exists("tasks/reserved-0/uploads/gone.tar.gz")
    assert await deployment.store.exists(f"tasks/{kept}/uploads/done.tar.gz")


async def test_answers_past_their_time_are_deleted(deployment: Deployment) -> None:
    insert = text("""
        INSERT INTO idempotency_records (org_id, route, key_hash, body_hash, user_id, expires_at)
        SELECT :org, 'POST /', sha256(n::text::bytea), sha256(''), :user, now() + interval '1 minute' * (n - 5999)
        FROM generate_series(1, 6000) n
    """)
    async with deployment.database.begin() as connection:
        await connection.execute(insert, {"org": ORG, "user": USER})
    async with deployment.database.connect() as connection:
        assert await delete_expired_records(connection) == 5999
        assert await connection.scalar(text("SELECT count(*) FROM idempotency_records")) == 1
