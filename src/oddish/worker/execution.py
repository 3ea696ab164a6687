"""One execution of a trial: from its claim to its recorded outcome."""

import asyncio
import contextlib
import functools
import random
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.engine.client import Attempt as Child
from oddish.engine.client import AttemptCrashed, AttemptLost, EngineUnavailable, ForkServer
from oddish.engine.credentials import read_table
from oddish.engine.evidence import TrialEvidence, read_evidence
from oddish.engine.protocol import AGENT_LOGS, Done, Failure, Run
from oddish.engine.redaction import Redactor, line_by_line
from oddish.engine.results import attempt_facts, read_trial
from oddish.errors import OddishError
from oddish.keyring import Keyring
from oddish.outcome import ATTEMPT_DEADLINE, AttemptFacts, Ending, RecordedException, judge, to_record
from oddish.pricing import Prices
from oddish.queue.claim import Claim
from oddish.queue.finish import StaleClaim
from oddish.queue.reap import lose, release
from oddish.settings import Settings
from oddish.storable import storable
from oddish.storage.manifest import Manifest, TreeLimits, upload_tree
from oddish.storage.store import ArtifactStore
from oddish.tracing.spans import Period
from oddish.trials.environments import Environments
from oddish.trials.ledger import Spending
from oddish.trials.recording import Report, record_outcome, record_stage
from oddish.trials.reporting import MESSAGE_LIMIT, Tidy, report_of
from oddish.trials.spec import TrialSpec, load_spec
from oddish.variants.reference import Reference
from oddish.worker.credentials import own_credentials
from oddish.worker.engines import Engines
from oddish.worker.folders import Place
from oddish.worker.lastwords import last_words
from oddish.worker.livelog import LiveLogs
from oddish.worker.metrics import LOST, REFUSED, count_outcome
from oddish.worker.persistence import insist, outlast
from oddish.worker.providers import provider_login
from oddish.worker.request import request
from oddish.worker.spending import spent, spent_so_far
from oddish.worker.stages import Stages
from oddish.worker.tail import Tail
from oddish.worker.taskcache import TaskCache, writable
from oddish.worker.traces import Traces
from oddish.worker.workspace import Workspace

log = structlog.get_logger()

OWN_TASK = "task"
"""Beside the directory of the trial, whose name is that of the attempt."""
CANCEL_GRACE_SECONDS = 15.0
"""What a cancelled child gets to end in good order, keeping its logs, before it is killed."""
OVERDUE_SECONDS = 120.0
"""How long after its deadline a child is killed that has not ended; it needs up to a minute to do so itself."""


@dataclass(frozen=True)
class Services:
    """What every execution of a worker shares."""

    settings: Settings
    database: AsyncEngine
    store: ArtifactStore
    keyring: Keyring
    prices: Prices
    engines: Engines
    tasks: TaskCache
    workspace: Workspace
    live: LiveLogs
    traces: Traces
    rng: random.Random
    left_behind: Callable[[], None]
    """Called when an attempt ended without clearing up after itself."""


@dataclass(frozen=True)
class Ended:
    """How the child of an execution ended."""

    ending: Ending
    done: Done | None
    trial_dir: Path | None


class Execution:
    """Runs one claim. ``run`` returns when the outcome is recorded, or when the execution may not report it."""

    def __init__(self, claim: Claim, services: Services) -> None:
        self.claim = claim
        self._services = services
        self._prefix = f"trials/{claim.subject_id}/{claim.tag}"
        self._cancelled = asyncio.Event()
        self._overdue = False
        self._cleared_up = True
        self._began = time.time()
        self.reporting = False
        """The child is gone and its outcome is being recorded."""
        self.over = False
        """What could be recorded is; all that remains is to clear up."""

    def cancel(self) -> None:
        """Ask for an orderly end; the outcome is recorded as cancelled."""
        self._cancelled.set()

    async def run(self) -> None:
        """Run the attempt and record it. Cancelling this task kills the child and records nothing."""
        services, claim = self._services, self.claim
        with structlog.contextvars.bound_contextvars(trial_id=claim.subject_id, epoch=claim.epoch):
            try:
                spec, ended = await self._execute(services.workspace.attempt(claim.label))
                await self._report(spec, ended)
            except EngineUnavailable as error:
                log.warning("no engine to run it", error=str(error))
                await self.give_back()
            except AttemptLost as error:
                log.warning("attempt lost", error=str(error))
                with contextlib.suppress(StaleClaim):
                    await insist(services.database, lambda connection: lose(connection, claim))
                    LOST.labels("engine").inc()
            except StaleClaim as error:
                REFUSED.inc()
                log.warning("outcome refused", error=str(error))
            except Exception as error:
                log.exception("execution failed")
                await self._record_failure(error)
            finally:
                self.over = True
                await asyncio.to_thread(services.workspace.discard, claim.label)
                if not self._cleared_up:
                    services.left_behind()

    async def give_back(self) -> None:
        """Return the claim because the worker cannot go on with it; nothing of it may be running any more."""
        with contextlib.suppress(StaleClaim):
            await insist(self._services.database, lambda connection: release(connection, self.claim))
            LOST.labels("released").inc()

    async def _execute(self, directory: Path) -> tuple[TrialSpec | None, Ended]:
        spec, settings = None, self._services.settings
        try:
            spec = await insist(
                self._services.database,
                lambda connection: load_spec(
                    connection,
                    self.claim.subject_id,
                    self._services.keyring,
                    table=read_table(),
                    own=own_credentials(settings.worker_credentials),
                    environments=Environments(logins=settings.provider_credentials),
                ),
            )
            structlog.contextvars.bind_contextvars(
                experiment=spec.experiment_id,
                **({"correlation_id": spec.correlation_id} if spec.correlation_id else {}),
            )
            spec = replace(spec, credentials={**provider_login(settings, spec.environment), **spec.credentials})
            async with (
                self._services.tasks.directory(
                    content_hash=spec.content_hash, task_name=spec.task_name, archive_key=spec.archive_key
                ) as shared,
                writable(shared, directory / OWN_TASK, further_services=_has_services(spec)) as task_dir,
                self._services.tasks.workspace(spec.workspace_key) as seeded,
            ):
                run = request(spec, self.claim, settings, self._services.workspace, task_dir, directory, seeded)
                done = await self._drive(run, Reference.from_record(spec.harbor), self._followed(spec, run))
        except AttemptCrashed as error:
            redactor = Redactor(spec.secrets() if spec else ())
            printed = await asyncio.to_thread(last_words, directory, redactor)
            log.warning("attempt crashed", error=str(error), engine_log=printed)
            return spec, Ended("crashed", None, directory / self.claim.label.lower())
        except OddishError as error:
            failure = Failure(type=type(error).__name__, message=str(error), phase="creation", occurred_at=None)
            done = Done(type="done", trial_dir=None, cancelled=False, failure=failure)
        return spec, Ended("done", done, Path(done["trial_dir"]) if done["trial_dir"] else None)

    def _followed(self, spec: TrialSpec, run: Run) -> AbstractAsyncContextManager[Tail]:
        logs = Place(Path(run["trials_dir"]), f"{run['trial_name']}/{AGENT_LOGS}")
        redact = Redactor(line_by_line(spec.secrets())).text
        spend = functools.partial(spent_so_far, spec, self._services.prices)
        return self._services.live.follow(
            self.claim, spec.agent, logs, redact=redact, spend=spend, closely=spec.has_cost_limit
        )

    async def _drive(self, run: Run, reference: Reference | None, followed: AbstractAsyncContextManager[Tail]) -> Done:
        async with contextlib.AsyncExitStack() as stack:
            stages = await stack.enter_async_context(Stages(self._record_stage))
            if reference is not None:
                stages.show("engine_setup")
            engine = await self._engine(stack, reference)
            if engine is None:
                return Done(type="done", trial_dir=None, cancelled=True, failure=None)
            async with followed as tail, engine.attempt(run) as child:
                self._cleared_up = False
                watchers = [
                    asyncio.create_task(self._cancel_when_asked(child)),
                    asyncio.create_task(self._kill_when_overdue(child, run["deadline_sec"])),
                ]
                try:
                    async for line in child:
                        if line["type"] == "stage":
                            stages.show(line["stage"])
                        elif line["type"] != "done":
                            tail.hear(line)
                except AttemptCrashed:
                    if self._overdue:
                        return _killed(run)
                    raise
                finally:
                    for watcher in watchers:
                        watcher.cancel()
        if child.done is None:
            raise AttemptCrashed(child.label, await child.wait())
        self._cleared_up = True
        return child.done

    async def _engine(self, stack: contextlib.AsyncExitStack, reference: Reference | None) -> ForkServer | None:
        """The engine to run in, which may have to be installed first; None when the trial is cancelled meanwhile."""
        entering = asyncio.ensure_future(stack.enter_async_context(self._services.engines.engine(reference)))
        cancelled = asyncio.create_task(self._cancelled.wait())
        try:
            await asyncio.wait([entering, cancelled], return_when=asyncio.FIRST_COMPLETED)
        finally:
            cancelled.cancel()
            if not entering.done():
                entering.cancel()
                await asyncio.wait([entering])
        return None if entering.cancelled() else entering.result()

    async def _record_stage(self, stage: str) -> None:
        try:
            async with self._services.database.begin() as connection:
                await record_stage(connection, self.claim, stage)
        except SQLAlchemyError as error:
            log.warning("stage not shown", stage=stage, error=str(error))

    async def _cancel_when_asked(self, child: Child) -> None:
        await self._cancelled.wait()
        await child.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_GRACE_SECONDS):
                await child.wait()
        await child.kill()

    async def _kill_when_overdue(self, child: Child, deadline_sec: float) -> None:
        """A child ends itself at its deadline, unless it hangs so badly that not even its clock runs."""
        await asyncio.sleep(deadline_sec + OVERDUE_SECONDS)
        self._overdue = True
        await child.kill()

    async def _report(self, spec: TrialSpec | None, ended: Ended) -> None:
        self.reporting = True
        services, claim = self._services, self.claim
        facts = await asyncio.to_thread(read_trial, ended.trial_dir) if ended.trial_dir else None
        redactor = Redactor(spec.secrets() if spec else ())
        manifest = await self._keep(ended.trial_dir, redactor)
        steps = [step.name for step in facts.steps] if facts else []
        evidence = (
            await asyncio.to_thread(read_evidence, ended.trial_dir, steps) if ended.trial_dir else TrialEvidence()
        )
        judged = attempt_facts(facts, ended.done, ended.ending, evidence.reported_tests)
        outcome = judge(judged)
        own = (ended.trial_dir, ended.trial_dir.parent) if ended.trial_dir else ()
        tidy = Tidy(redactor, (*own, services.workspace.tasks))
        spending = Spending()
        if spec and facts and ended.trial_dir:
            spending = await asyncio.to_thread(spent, spec, facts, ended.trial_dir, services.prices)
        report = report_of(facts, evidence, judged, tidy, manifest, self._prefix, spending)
        await insist(
            services.database,
            lambda connection: record_outcome(connection, claim, outcome, report, rng=services.rng),
        )
        count_outcome(claim.kind, outcome.status, outcome.reasons)
        log.info("attempt recorded", status=outcome.status, reward=outcome.reward, reasons=outcome.reasons)
        self.over = True
        if spec:
            period = Period(self._began, time.time())
            await services.traces.tell(spec, claim.epoch, period, facts, ended.trial_dir, outcome, report)

    async def _record_failure(self, error: Exception) -> None:
        """A defect of ours, or a result that cannot be kept, is a failed attempt and not a silent one."""
        failure = RecordedException(type(error).__name__, storable(str(error))[:MESSAGE_LIMIT], phase=None)
        judged = AttemptFacts("done", exceptions=(failure,))
        report = Report(failure=asdict(failure), facts={"judged": to_record(judged)})
        outcome = judge(judged)
        with contextlib.suppress(StaleClaim):
            await insist(
                self._services.database,
                lambda connection: record_outcome(connection, self.claim, outcome, report, rng=self._services.rng),
            )
            count_outcome(self.claim.kind, outcome.status, outcome.reasons)

    async def _keep(self, trial_dir: Path | None, redactor: Redactor) -> Manifest | None:
        """Store the attempt's files, without the secrets, and then their manifest."""
        if trial_dir is None or not await asyncio.to_thread(trial_dir.is_dir):
            return None
        settings = self._services.settings
        limits = TreeLimits(max_bytes=settings.max_artifact_bytes, max_files=settings.max_artifact_files)
        await asyncio.to_thread(redactor.directory, trial_dir, largest=limits.max_bytes)
        return await outlast(lambda: upload_tree(self._services.store, trial_dir, self._prefix, limits))


def _has_services(spec: TrialSpec) -> bool:
    environment = spec.harbor.get("environment")
    return isinstance(environment, dict) and bool(environment.get("extra_docker_compose"))


def _killed(run: Run) -> Done:
    """What an attempt came to that had to be killed past its deadline."""
    failure = Failure(
        type=ATTEMPT_DEADLINE,
        message=f"The attempt did not end at its total deadline of {run['deadline_sec']:g} s and was killed.",
        phase=None,
        occurred_at=datetime.now(UTC).isoformat(),
    )
    directory = Path(run["trials_dir"]) / run["trial_name"]
    return Done(type="done", trial_dir=str(directory), cancelled=False, failure=failure)
