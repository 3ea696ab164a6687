"""The decision of a gate: what it is, and that it is taken once, whatever happens at that moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish import ids
from oddish.keyring import load_keyring
from oddish.queue.cancel import cancel
from oddish.queue.claim import claim
from oddish.queue.lease import Worker, register
from oddish.queue.reap import lose
from oddish.queue.schedule import release_groups
from oddish.settings import Settings
from oddish.storage.store import ArtifactStore
from oddish.trials.gate import add_gate
from support.deployments import EXPERIMENT, ORG, Deployment
from support.waiting import until

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).parents[3] / "examples" / "hello-world"
POOL = "local@harbor/test"
END = "UPDATE jobs SET state = :state, run_at = NULL, finished_at = now() WHERE subject_id = :trial"

# The decision ---------------------------------------------------------------------------------------------------------

UNFINISHED = ("queued", "running", "retrying")


@dataclass(frozen=True)
class Row:
    agent: str
    status: str
    reward: float | None
    stage: str | None = None
    deleted: bool = False
    probe: bool = False
    verified: bool = True
    here: bool = True
    """In the experiment of the gate."""

    @property
    def judges(self) -> bool:
        return self.agent != "other" and self.verified and self.here and not (self.deleted or self.probe)

    @property
    def right(self) -> bool:
        if self.status != "success" or self.reward is None:
            return False
        return self.reward > 0 if self.agent == "oracle" else self.reward == 0


ROWS = st.builds(
    Row,
    agent=st.sampled_from(["oracle", "nop", "oracle", "nop", "nop", "oracle", "other"]),
    status=st.sampled_from(["success"] * 6 + ["failed", "queued", "running", "retrying"]),
    reward=st.sampled_from([0.0, 1.0, 1.0, 0.25, -1.0, None]),
    stage=st.sampled_from([None, "cancelled", "completed"]),
    deleted=st.sampled_from([False] * 9 + [True]),
    probe=st.sampled_from([False] * 9 + [True]),
    verified=st.sampled_from([True] * 9 + [False]),
    here=st.sampled_from([True] * 9 + [False]),
)
SOUND = st.sampled_from([Row("oracle", "success", 1.0), Row("oracle", "success", 0.5), Row("nop", "success", 0.0)])


@pytest.fixture(scope="module")
def database(new_database) -> Connection:
    engine = create_engine(new_database(), poolclass=NullPool)
    with engine.begin() as connection:
        for statement in (
            "INSERT INTO organisations (id, name) VALUES ('org', 'org')",
            "INSERT INTO users (id, org_id, name, role) VALUES ('user', 'org', 'user', 'admin')",
            "INSERT INTO experiments (id, org_id, name, created_by) VALUES"
            " ('here', 'org', 'here', 'user'), ('elsewhere', 'org', 'elsewhere', 'user')",
            "INSERT INTO tasks (id, org_id, name, created_by) VALUES ('task', 'org', 'task', 'user')",
            "INSERT INTO task_versions (id, org_id, task_id, version, content_hash, client_hash, archive_key,"
            " archive_bytes, definition, created_by) VALUES ('v', 'org', 'task', 1, '', '', '', 0, '{}', 'user')",
        ):
            connection.execute(text(statement))
    with engine.connect() as connection:
        yield connection
    engine.dispose()


INSERT = text("""
INSERT INTO trials (id, org_id, task_id, task_version_id, task_version, experiment_id, trial_index, name, agent,
  provider, queue_key, environment, harbor_config, unit_hash, created_by, max_attempts, status, reward, harbor_stage,
  is_probe, deleted_at)
VALUES ('t' || :index, 'org', 'task', 'v', 1, :experiment, :index, '', :agent, '', '', 'local',
  jsonb_build_object('verifier', jsonb_build_object('disable', NOT :verified)), '', 'user', 1, :status, :reward, :stage,
  :probe, CASE WHEN :deleted THEN now() END)
""")


@settings(max_examples=300)
@given(rows=st.lists(ROWS | SOUND | SOUND, max_size=4))
def test_a_gate_opens_only_when_every_baseline_came_to_what_it_should(database: Connection, rows: list[Row]) -> None:
    database.rollback()
    for index, row in enumerate(rows):
        members = {**vars(row), "index": index, "experiment": "here" if row.here else "elsewhere"}
        database.execute(INSERT, {name: value for name, value in members.items() if name != "here"})
    waits, obstacle = database.execute(text("SELECT * FROM judge_gate('v', 'here')")).one()
    judges = {f"t{index}": row for index, row in enumerate(rows) if row.judges}
    wrong = [trial_id for trial_id, row in judges.items() if not row.right]
    assert waits == any(row.status in UNFINISHED for row in judges.values())
    assert (obstacle is None) == (waits or bool(judges and not wrong))
    if obstacle is not None and wrong:
        assert obstacle.startswith(f"Not run: {wrong[0]} of {judges[wrong[0]].agent} ")
        assert (f"; {len(wrong) - 1} more of oracle and nop" in obstacle) == (len(wrong) > 1)


# The moment -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gated:
    """A task with a trial of oracle, one of nop and one that waits for them."""

    deployment: Deployment
    oracle: str
    nop: str
    other: str

    @property
    def engine(self) -> AsyncEngine:
        return self.deployment.database

    async def end(self, connection: AsyncConnection, trial: str, reward: float, state: str = "done") -> None:
        await connection.execute(
            text("UPDATE trials SET reward = :reward WHERE id = :trial"), {"reward": reward, "trial": trial}
        )
        await connection.execute(text(END), {"state": state, "trial": trial})

    async def status(self) -> str:
        return str((await self.deployment.trial(self.other))["status"])

    async def state(self) -> str:
        async with self.engine.connect() as connection:
            statement = text("SELECT state FROM jobs WHERE subject_id = :trial")
            return str(await connection.scalar(statement, {"trial": self.other}))


async def blocked(engine: AsyncEngine, task: asyncio.Task[None]) -> None:
    """Wait until a transaction waits for another one's lock."""
    waiting = text("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")

    async def waits() -> object:
        async with engine.connect() as connection:
            assert not task.done(), "it did not wait"
            return await connection.scalar(waiting)

    await until(waits)


@pytest.fixture
async def deployment(engine: AsyncEngine, oddish_home: Path, database_url: str) -> Deployment:
    settings = Settings(home=oddish_home, database_url=database_url)
    store = ArtifactStore.open(settings.storage_url)
    deployment = Deployment(settings, engine, store, load_keyring(None, oddish_home), "harbor/test")
    await deployment.prepare()
    return deployment


@asynccontextmanager
async def new_gate(engine: AsyncEngine, task_id: str) -> AsyncIterator[str]:
    """The gate's group; it is there for others on leaving the context."""
    async with engine.begin() as connection:
        group = await add_gate(connection, ORG, ids.version_id(task_id, 1), EXPERIMENT)
        assert group is not None
        yield group


@pytest.fixture
async def gated(deployment: Deployment) -> Gated:
    task_id = await deployment.task(EXAMPLE)
    oracle = await deployment.submit(task_id, index=0)
    nop = await deployment.submit(task_id, index=1, agent="nop")
    async with new_gate(deployment.database, task_id) as group:
        pass
    other = await deployment.submit(task_id, index=2, agent="claude-code", group=group)
    return Gated(deployment, oracle, nop, other)


@pytest.mark.parametrize(("reward", "state"), [(0.0, "ready"), (1.0, "skipped")])
async def test_two_baselines_that_end_at_once_decide_together(gated: Gated, reward: float, state: str) -> None:
    async def end_nop() -> None:
        async with gated.engine.begin() as second:
            await gated.end(second, gated.nop, reward)

    async with gated.engine.begin() as first:
        await gated.end(first, gated.oracle, 1)
        late = asyncio.create_task(end_nop())
        await blocked(gated.engine, late)
    await late
    assert await gated.state() == state


async def test_an_end_that_is_not_committed_counts_as_none(gated: Gated) -> None:
    async with gated.engine.begin() as connection:
        await gated.end(connection, gated.nop, 0)
    async with gated.engine.connect() as connection:
        await gated.end(connection, gated.oracle, 0)
        await connection.rollback()
    assert await gated.state() == "held"
    async with gated.engine.begin() as connection:
        await gated.end(connection, gated.oracle, 1)
    assert await gated.state() == "ready"


async def test_a_baseline_whose_worker_was_lost_keeps_the_gate_closed(gated: Gated) -> None:
    async with gated.engine.begin() as connection:
        worker = Worker("w", "host", 1, "0", [POOL], cpus=2, memory_mb=4096, concurrency=4)
        await register(connection, worker, [], lease_seconds=600)
    async with gated.engine.begin() as connection:
        await gated.end(connection, gated.nop, 0)
    async with gated.engine.begin() as connection:
        [held] = await claim(connection, worker_id="w", pools=[POOL], slots=1, memory_mb=4096)
    async with gated.engine.begin() as connection:
        await lose(connection, held)
    assert ((await gated.deployment.trial(gated.oracle))["status"], await gated.state()) == ("retrying", "held")
    async with gated.engine.begin() as connection:
        await gated.end(connection, gated.oracle, 1)
    assert await gated.state() == "ready"


async def test_a_trial_that_is_cancelled_while_it_would_be_skipped_is_cancelled(gated: Gated) -> None:
    async def decide() -> None:
        async with gated.engine.begin() as connection:
            await gated.end(connection, gated.nop, 1)
            await gated.end(connection, gated.oracle, 1)

    async with gated.engine.begin() as connection:
        await cancel(connection, kind="trial", subject_ids=[gated.other])
        deciding = asyncio.create_task(decide())
        await blocked(gated.engine, deciding)
    await deciding
    assert (await gated.status(), await gated.state()) == ("failed", "cancelled")


async def test_a_cancel_that_comes_to_nothing_leaves_the_decision_to_the_next_look(gated: Gated) -> None:
    async with gated.engine.connect() as holder:
        await holder.execute(text("SELECT FROM jobs WHERE subject_id = :trial FOR UPDATE"), {"trial": gated.other})
        async with gated.engine.begin() as connection:
            await gated.end(connection, gated.nop, 1)
            await gated.end(connection, gated.oracle, 1)
        await holder.rollback()
    assert await gated.state() == "held"
    async with gated.engine.begin() as connection:
        assert await release_groups(connection) == 1
    assert (await gated.status(), await gated.state()) == ("skipped", "skipped")


async def test_a_baseline_that_ends_while_a_gate_is_made_is_seen(deployment: Deployment) -> None:
    task_id = await deployment.task(EXAMPLE)
    oracle = await deployment.submit(task_id)
    groups: list[str] = []

    async def make() -> None:
        async with new_gate(deployment.database, task_id) as group:
            groups.append(group)

    async with deployment.database.begin() as connection:
        await connection.execute(text("UPDATE trials SET reward = 1 WHERE id = :trial"), {"trial": oracle})
        await connection.execute(text(END), {"state": "done", "trial": oracle})
        making = asyncio.create_task(make())
        await blocked(deployment.database, making)
    await making
    gated = Gated(deployment, oracle, "", await deployment.submit(task_id, index=1, agent="other", group=groups[0]))
    assert await gated.state() == "ready"


async def test_a_gate_that_is_being_made_is_seen_by_the_baseline_that_ends(deployment: Deployment) -> None:
    task_id = await deployment.task(EXAMPLE)
    oracle = await deployment.submit(task_id)
    gated = Gated(deployment, oracle, "", await deployment.submit(task_id, index=1, agent="other"))

    async def end() -> None:
        async with deployment.database.begin() as connection:
            await gated.end(connection, oracle, 0)

    async with deployment.database.begin() as connection:
        group = await add_gate(connection, ORG, ids.version_id(task_id, 1), EXPERIMENT)
        ending = asyncio.create_task(end())
        await blocked(deployment.database, ending)
        await connection.execute(
            text("UPDATE jobs SET state = 'held', group_id = :group WHERE subject_id = :trial"),
            {"group": group, "trial": gated.other},
        )
    await ending
    assert (await gated.status(), await gated.state()) == ("skipped", "skipped")


async def test_many_ends_at_once_decide_every_gate(deployment: Deployment) -> None:
    task_id = await deployment.task(EXAMPLE)
    baselines = [await deployment.submit(task_id, index=index) for index in range(8)]
    others = []
    for index in range(8, 12):
        async with new_gate(deployment.database, task_id) as group:
            pass
        others.append(await deployment.submit(task_id, index=index, agent="other", group=group))

    async def end(trial: str) -> None:
        async with deployment.database.begin() as connection:
            await connection.execute(text("UPDATE trials SET reward = 1 WHERE id = :trial"), {"trial": trial})
            await connection.execute(text(END), {"state": "done", "trial": trial})

    await asyncio.gather(*map(end, baselines))
    async with deployment.database.connect() as connection:
        states = await connection.scalars(
            text("SELECT state FROM jobs WHERE subject_id = ANY (:trials)"), {"trials": others}
        )
        assert set(states) == {"ready"}
