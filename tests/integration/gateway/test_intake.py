"""An archive that a caller hosts becomes a task version and the trials of a job."""

import io
import random
import shutil
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.errors import OddishError
from oddish.gateway import workspace
from oddish.gateway.addresses import LOOPBACK
from oddish.gateway.artifacts import archive, forget
from oddish.gateway.document import job_listing
from oddish.gateway.events import events_after
from oddish.gateway.fetching import Fetcher
from oddish.gateway.intake import Intake, refuse
from oddish.gateway.jobs import ANY_POOL, GatewayJob, Order, cancel, create, get, prepare
from oddish.gateway.retention import delete_old_workspaces
from oddish.gateway.trials import trials_of_jobs
from oddish.identity.principal import Principal, Scope
from oddish.outcome import AttemptFacts, RecordedException, judge, to_record
from oddish.queue.claim import Claim, claim
from oddish.queue.finish import finish
from oddish.queue.keys import Limits
from oddish.queue.lease import Publication, Worker, register
from oddish.storage.manifest import upload_tree
from oddish.storage.store import ArtifactStore
from oddish.storage.writing import Written
from oddish.tasks.archive import ArchiveLimits
from oddish.trials.deletion import delete_trial
from oddish.trials.doors import ALL
from oddish.trials.environments import Environments
from oddish.trials.policy import Policy
from oddish.trials.recording import Report, record_outcome, record_stage
from support.archive_host import ArchiveHost, archive_host, zipped
from support.claims import ENGINE, EXAMPLE, WORKER, deployment_with_a_worker
from support.deployments import ORG, USER, Deployment

pytestmark = pytest.mark.anyio

CALLER = Principal("key", ORG, USER, USER, "admin", Scope.FULL)
LIMITS = Limits(8, 256, {}, gateway=2)
POOL = f"local@{ENGINE}"


@pytest.fixture(scope="module")
def host() -> Iterator[ArchiveHost]:
    with archive_host() as host:
        yield host


@pytest.fixture
async def deployment(engine: AsyncEngine, oddish_home: Path, database_url: str) -> Deployment:
    deployment = await deployment_with_a_worker(engine, oddish_home, database_url)
    worker = Worker("other", "host", 1, "0", [POOL], cpus=2, memory_mb=4096, concurrency=8)
    agents = [{"name": "oracle", "needs_model": False}, {"name": "nop", "needs_model": False}]
    async with engine.begin() as connection:
        await register(connection, worker, [Publication(POOL, "local", ENGINE, 0, agents)], lease_seconds=600)
    return deployment


class Gateway:
    """A caller, and a worker that takes archives in by hand."""

    def __init__(self, deployment: Deployment, scratch: Path, host: ArchiveHost) -> None:
        self.deployment = deployment
        self.host = host
        self._scratch = scratch
        self._taken = 0

    async def job(self, url: str, agents: list[dict[str, Any]] | None = None, *, pass_at_k: int = 1) -> GatewayJob:
        request = {
            "task_slug": "my task",
            "metadata": {"task_archive_url": url},
            "agents": agents or [{"name": "a", "harbor_agent": "oracle"}],
            "pass_at_k": pass_at_k,
        }
        return await self.ordered(Order("execute", "my task", request, request, request["agents"], pass_at_k, True))

    async def ordered(self, order: Order) -> GatewayJob:
        await prepare(self.deployment.database, CALLER, LIMITS, order.agents)
        async with self.deployment.database.begin() as connection:
            return await create(connection, self.deployment.keyring, CALLER, order, retention=timedelta(days=1))

    async def claim(self, pool: str = ANY_POOL) -> list[Claim]:
        async with self.deployment.database.begin() as connection:
            await connection.execute(text("UPDATE jobs SET run_at = NULL, state = 'ready' WHERE state = 'scheduled'"))
        held: list[Claim] = []
        while True:
            async with self.deployment.database.begin() as connection:
                more = await claim(connection, worker_id=WORKER, pools=[pool], slots=8, memory_mb=4096)
            held += more
            if not more:
                return held

    async def take(self) -> None:
        """Every archive that waits."""
        deployment = self.deployment
        intake = Intake(
            deployment.database,
            deployment.store,
            deployment.keyring,
            Policy(6, timedelta(days=1), local=True, doors=ALL, environments=Environments(enabled=["local"])),
            LIMITS,
            Fetcher(1_000_000, 10, LOOPBACK),
            ArchiveLimits(max_entries=100),
            patience_seconds=0,
        )
        for held in await self.claim():
            self._taken += 1
            scratch = self._scratch / str(self._taken)
            scratch.mkdir()
            try:
                await intake.take(held, scratch)
            except OddishError as error:
                async with deployment.database.begin() as connection:
                    await refuse(connection, held, error)

    async def end(self, held: Claim, facts: AttemptFacts, *, exit_code: int | None = None) -> None:
        """As a worker records an outcome."""
        result = None if exit_code is None else {"_verifier": {"exit_code": exit_code}}
        report = Report(facts={"judged": to_record(facts)}, rewards=facts.rewards, result=result)
        async with self.deployment.database.begin() as connection:
            await record_outcome(connection, held, judge(facts), report, rng=random.Random(1))

    async def found(self, job: GatewayJob) -> GatewayJob:
        async with self.deployment.database.connect() as connection:
            return await get(connection, CALLER, job.id)

    async def rows(self, statement: str, **parameters: object) -> list[tuple]:
        async with self.deployment.database.connect() as connection:
            return [tuple(row) for row in await connection.execute(text(statement), parameters)]

    async def trials(self, job: GatewayJob) -> list[tuple]:
        statement = (
            "SELECT gateway_agent, agent, status, t.max_attempts, task_version, j.state, j.lane FROM trials t"
            " JOIN jobs j ON j.subject_id = t.id WHERE gateway_job_id = :id ORDER BY trial_index"
        )
        return await self.rows(statement, id=job.id)


@pytest.fixture
def gateway(deployment: Deployment, tmp_path: Path, host: ArchiveHost) -> Gateway:
    return Gateway(deployment, tmp_path, host)


async def test_the_trials_of_each_agent_are_queued_as_many_at_once_as_it_asks_for(gateway: Gateway) -> None:
    url = gateway.host.put("wrapped.zip", zipped(EXAMPLE, wrapper="some-folder/"))
    agents = [
        {"name": "a", "harbor_agent": "oracle", "harbor_extensions": {"n_concurrent": 2}},
        {"name": "b", "harbor_agent": "nop"},
    ]
    job = await gateway.job(url, agents, pass_at_k=3)
    await gateway.take()
    lane = f"gateway:{ORG}"
    assert await gateway.trials(job) == [
        ("a", "oracle", "queued", 1, 1, "ready", lane),
        ("a", "oracle", "queued", 1, 1, "ready", lane),
        ("a", "oracle", "queued", 1, 1, "held", lane),
        *[("b", "nop", "queued", 1, 1, "ready", lane)] * 3,
    ]
    taken = await gateway.found(job)
    assert (taken.status, taken.error) == ("queued", None)
    assert await gateway.rows("SELECT kind, name FROM experiments WHERE id = :id", id=taken.experiment_id) == [
        ("gateway", f"my task-{job.id}")
    ]


async def test_the_quota_holds_over_all_jobs_of_the_organisation(gateway: Gateway) -> None:
    url = gateway.host.put("task.zip", zipped(EXAMPLE))
    for _ in range(3):
        await gateway.job(url)
    await gateway.take()
    held = await gateway.claim(POOL)
    assert len(held) == 2
    await gateway.end(held[0], AttemptFacts("done", rewards={"reward": 1.0}))
    assert len(await gateway.claim(POOL)) == 1


async def test_the_same_content_is_the_same_version_and_new_trials(gateway: Gateway) -> None:
    plain, wrapped = zipped(EXAMPLE), zipped(EXAMPLE, wrapper="folder/")
    jobs = [
        await gateway.job(gateway.host.put(f"{name}.zip", content))
        for name, content in (("one", plain), ("two", wrapped), ("three", zipped(EXAMPLE, without="README")))
    ]
    await gateway.take()
    versions = [(await gateway.found(job)).task_version_id for job in jobs]
    assert versions[0] == versions[1]
    assert all([len(await gateway.trials(job)) == 1 for job in jobs])


async def test_a_refill_runs_the_version_of_its_parent_and_fetches_nothing(gateway: Gateway) -> None:
    parent = await gateway.job(gateway.host.put("once.zip", zipped(EXAMPLE)))
    await gateway.take()
    parent = await gateway.found(parent)
    request = {"agents": [{"name": "a", "harbor_agent": "oracle"}], "pass_at_k": 2}
    child = await gateway.ordered(
        Order("execute", "my task", request, {"metadata": {}}, [], 2, True, parent.id, ["E"], parent.task_version_id)
    )
    del gateway.host.files["/once.zip"]
    await gateway.take()
    assert len(await gateway.trials(child)) == 2
    assert (await gateway.found(child)).task_version_id == parent.task_version_id


@pytest.mark.parametrize(
    ("path", "agent", "code"),
    [
        ("absent.zip", "oracle", "archive_not_available"),
        ("unsolved.zip", "oracle", "oracle_solution_missing"),
        ("tests.zip", "oracle", "archive_without_task"),
        ("text.zip", "oracle", "archive_not_usable"),
        ("untold.zip", "oracle", "invalid_task"),
        ("ignoring.zip", "oracle", "archive_ignores_files"),
        ("task.zip", "no-such-agent", "unknown_agent"),
    ],
)
async def test_what_no_trials_can_be_made_of_is_the_error_of_the_job(
    gateway: Gateway, path: str, agent: str, code: str, tmp_path: Path
) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "ignoring")
    (tmp_path / "ignoring/.gitignore").write_text("solution/\n")
    gateway.host.put("ignoring.zip", zipped(tmp_path / "ignoring"))
    gateway.host.put("task.zip", zipped(EXAMPLE))
    gateway.host.put("unsolved.zip", zipped(EXAMPLE, without="solution"))
    gateway.host.put("tests.zip", zipped(EXAMPLE / "tests"))
    gateway.host.put("text.zip", b"not a zip")
    gateway.host.put("untold.zip", zipped(EXAMPLE, without="instruction"))
    job = await gateway.job(f"{gateway.host.url}/{path}?sig=hush-hush", [{"name": "a", "harbor_agent": agent}])
    await gateway.take()
    ended = await gateway.found(job)
    assert (ended.status, ended.error and ended.error["code"]) == ("failed", code)
    assert "hush-hush" not in str(ended.error)
    assert await gateway.trials(job) == []
    assert await gateway.rows("SELECT event, data #>> '{error,code}' FROM gateway_events ORDER BY seq") == [
        ("job.queued", None),
        ("job.finished", code),
    ]


async def test_a_host_that_is_away_is_asked_again(gateway: Gateway) -> None:
    job = await gateway.job(gateway.host.put("task.zip", zipped(EXAMPLE)))
    gateway.host.refusals += [503]
    await gateway.take()
    assert (await gateway.found(job)).status == "queued"
    await gateway.take()
    assert len(await gateway.trials(job)) == 1


async def test_a_job_has_ended_with_its_last_trial_and_tells_so_in_order(gateway: Gateway) -> None:
    job = await gateway.job(gateway.host.put("task.zip", zipped(EXAMPLE)), pass_at_k=2)
    await gateway.take()
    raised = AttemptFacts("done", rewards={"reward": 1.0}, exceptions=(RecordedException("E", "", None),))
    for held, facts in zip(
        await gateway.claim(POOL), [AttemptFacts("done", rewards={"reward": 0.0}), raised], strict=True
    ):
        async with gateway.deployment.database.begin() as connection:
            await record_stage(connection, held, "agent_running")
        assert (await gateway.found(job)).status == "running"
        await gateway.end(held, facts)
    assert (await gateway.found(job)).status == "succeeded"
    assert [row[0] for row in await gateway.rows("SELECT event FROM gateway_events ORDER BY seq")] == [
        "job.queued",
        "trial.started",
        "trial.started",
        "trial.phase",
        "trial.finished",
        "trial.phase",
        "trial.finished",
        "job.finished",
    ]
    async with gateway.deployment.database.connect() as connection:
        told = [event.data.get("outcome") for event in await events_after(connection, job.id, 4)]
    errored = {"status": "errored", "valid_for_scoring": False, "exceptions": ["E"]}
    unverified = {"status": "unverified", "valid_for_scoring": False, "exceptions": []}
    assert told == [unverified, None, errored, errored]


async def test_a_job_without_a_real_result_has_failed(gateway: Gateway) -> None:
    job = await gateway.job(gateway.host.put("task.zip", zipped(EXAMPLE)))
    await gateway.take()
    [held] = await gateway.claim(POOL)
    facts = AttemptFacts("done", rewards={"reward": 1.0}, exceptions=(RecordedException("E", "", None),))
    await gateway.end(held, facts)
    assert (await gateway.found(job)).status == "failed"


@pytest.mark.parametrize(("exit_code", "status"), [(3, "succeeded"), (None, "failed")])
async def test_a_verification_has_succeeded_with_an_exit_code(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, exit_code: int | None, status: str
) -> None:
    metadata = {"task_archive_url": gateway.host.put("task.zip", zipped(EXAMPLE))}
    job = await gateway.ordered(
        Order("verify", "my task", {"metadata": metadata, "repeats": 1}, {"metadata": metadata}, [], 1, True)
    )
    await gateway.take()
    [held] = await gateway.claim(POOL)
    with monkeypatch.context() as later:
        later.setattr(workspace, "KEPT", timedelta(0))
        assert await delete_old_workspaces(gateway.deployment.database, gateway.deployment.store) == 0
    raised = AttemptFacts("done", exceptions=(RecordedException("RewardFileNotFoundError", "", None),))
    await gateway.end(held, raised, exit_code=exit_code)
    ended = await gateway.found(job)
    assert ended.status == status
    async with gateway.deployment.database.connect() as connection:
        *_, one, last = await events_after(connection, job.id, 0)
        assert (one.data["exit_code"], last.data["exit_codes"]) == (exit_code, [exit_code])
        trials = (await trials_of_jobs(connection, [job.id, "gw_0"]))[job.id]
    assert job_listing(ended, trials)["exit_codes"] == [exit_code]
    assert await gateway.rows("SELECT is_probe FROM trials") == [(True,)]
    store, key = gateway.deployment.store, str(ended.workspace_key)
    assert await store.exists(key)
    monkeypatch.setattr(workspace, "KEPT", timedelta(0))
    assert await delete_old_workspaces(gateway.deployment.database, store) == 1
    assert not await store.exists(key)
    assert (await gateway.found(job)).workspace_key is None


async def test_a_cancelled_job_ends_with_its_trials(gateway: Gateway) -> None:
    job = await gateway.job(gateway.host.put("task.zip", zipped(EXAMPLE)), pass_at_k=3)
    await gateway.take()
    running = await gateway.claim(POOL)
    async with gateway.deployment.database.begin() as connection:
        await cancel(connection, CALLER, job.id)
    assert (await gateway.found(job)).status == "running"
    for held in running:
        async with gateway.deployment.database.begin() as connection:
            await finish(connection, held, "cancelled", error="Cancelled by user")
    assert (await gateway.found(job)).status == "cancelled"


async def test_a_zip_that_is_made_while_a_trial_is_deleted_is_without_it(gateway: Gateway, tmp_path: Path) -> None:
    job = await gateway.job(gateway.host.put("task.zip", zipped(EXAMPLE)), pass_at_k=2)
    await gateway.take()
    database, store = gateway.deployment.database, gateway.deployment.store
    (tmp_path / "left").mkdir()
    (tmp_path / "left/log").write_text("did it")
    held = await gateway.claim(POOL)
    for one in held:
        await gateway.end(one, AttemptFacts("done", rewards={"reward": 1.0}))
        await upload_tree(store, tmp_path / "left", f"trials/{one.subject_id}/1-a")
    async with database.begin() as connection:
        await connection.execute(text("UPDATE attempts SET artifact_prefix = 'trials/' || trial_id || '/1-a'"))
    kept, gone = (one.subject_id for one in held)

    class Overtaken(ArtifactStore):
        """Whose first zip arrives after one of its trials was deleted."""

        overtaken = False

        async def put_file(self, key: str, source: Path | IO[bytes], *, write_once: bool = False) -> Written:
            if not self.overtaken:
                self.overtaken = True
                async with database.begin() as connection:
                    await delete_trial(connection, CALLER, gone)
                await forget(self, job.id)
            return await super().put_file(key, source, write_once=write_once)

    made = await archive(database, Overtaken.open(gateway.deployment.settings.storage_url), job.id)
    [stored] = (await store.list("gateway")).objects
    assert stored.key == made.key
    with zipfile.ZipFile(io.BytesIO(await store.get(made.key, max_bytes=10_000))) as packed:
        assert packed.namelist() == [f"{kept}/manifest.json", f"{kept}/log"]
