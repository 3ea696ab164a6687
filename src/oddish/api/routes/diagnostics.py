"""The state of the queue, for those who run the deployment."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query

from oddish.api.authentication import PrincipalOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.queue.diagnostics.backlog import Backlog, Capacity
from oddish.queue.diagnostics.lasthour import read_ended, read_pace
from oddish.queue.diagnostics.slots import KeySlots, read_slots
from oddish.queue.diagnostics.stuck import Sample, read_counts, read_samples
from oddish.queue.diagnostics.vitals import Vitals, read_vitals
from oddish.schemas.diagnostics import (
    CapacityResponse,
    ComponentResponse,
    FailedJob,
    JobDuration,
    KeySlotsResponse,
    KindQueue,
    OrphanedStateResponse,
    PaceResponse,
    QueueHealthResponse,
    QueueStatusResponse,
    SlotResponse,
    SlotsResponse,
    StaleJob,
    StuckCounts,
    TaskSample,
    TrialQueue,
    TrialSample,
    WorkerJobsResponse,
)

type StaleAfter = Annotated[
    int, Query(ge=1, le=240, description="Minutes without a sign of life after which a worker counts as silent.")
]

router = new_router()


@router.get("/admin/slots", tags=["admin"])
async def slots(services: ServicesOf) -> SlotsResponse:
    """Who holds the slots of each queue key. A slot is a running job, numbered in the order of the claims."""
    async with services.reads.connect() as connection:
        found = await read_slots(connection)
    return SlotsResponse(
        queue_keys=[_key_slots(key) for key in found],
        total_slots=sum(key.total for key in found),
        total_active=sum(key.active for key in found),
        timestamp=datetime.now(UTC),
    )


@router.get("/admin/queue-status", tags=["admin"])
async def queue_status(services: ServicesOf) -> QueueStatusResponse:
    """How many jobs wait and run, by kind and queue key."""
    backlog = await services.backlog.get()
    depths = backlog.depths()

    def total(kind: str, state: str) -> int:
        return sum(getattr(depth, state) for depth in depths if depth.kind == kind)

    return QueueStatusResponse(
        queues=[
            KindQueue(kind=depth.kind, queue_key=depth.key, queued=depth.queued, running=depth.running)
            for depth in depths
        ],
        trial_queues=[
            TrialQueue(queue_key=depth.key, queued=depth.queued, running=depth.running)
            for depth in depths
            if depth.kind == "trial"
        ],
        analysis_queued=total("analysis", "queued"),
        analysis_running=total("analysis", "running"),
        verdict_queued=total("verdict", "queued"),
        verdict_running=total("verdict", "running"),
        timestamp=backlog.at,
    )


@router.get("/admin/orphaned-state", tags=["admin"])
async def orphaned_state(
    principal: PrincipalOf, services: ServicesOf, stale_after_minutes: StaleAfter = 15
) -> OrphanedStateResponse:
    """Running jobs of workers that give no sign of life, and what else nobody takes care of. Normally nothing."""
    lease_seconds = services.settings.lease_seconds
    backlog = await services.backlog.get()
    async with services.reads.connect() as connection:
        counts = await read_counts(
            connection,
            backlog.waiting_pools(),
            stale_after_minutes=stale_after_minutes,
            lease_seconds=lease_seconds,
        )
        samples = await read_samples(
            connection, principal.org_id, stale_after_minutes=stale_after_minutes, lease_seconds=lease_seconds
        )
    return OrphanedStateResponse(
        counts=StuckCounts(
            running_stale_heartbeat=counts.silent,
            running_lease_ended=counts.lease_ended,
            active_tasks_without_active_trials=counts.hidden_tasks,
            retrying_without_worker=counts.retrying_unserved,
        ),
        trial_samples=[_trial_sample(sample) for sample in samples if sample.kind == "trial" and not sample.hidden],
        task_samples=[
            TaskSample(task_id=sample.task_id, trial_id=sample.subject_id, current_worker_id=sample.worker_id)
            for sample in samples
            if sample.hidden and sample.task_id is not None
        ],
        stale_after_minutes=stale_after_minutes,
        timestamp=datetime.now(UTC),
    )


@router.get("/admin/queue-health", tags=["admin"])
async def queue_health(services: ServicesOf) -> QueueHealthResponse:
    """How full each queue key is, how fast jobs begin and end, and whether somebody works on them."""
    backlog = await services.backlog.get()
    async with services.reads.connect() as connection:
        pace = await read_pace(connection)
        vitals = await read_vitals(connection, lease_seconds=services.settings.lease_seconds)
    return QueueHealthResponse(
        totals_queued=sum(depth.queued for depth in backlog.depths()),
        totals_running=sum(depth.running for depth in backlog.depths()),
        throughput=[PaceResponse.model_validate(kind) for kind in pace],
        capacity=_capacities(backlog),
        dispatcher=_component(
            "dispatcher",
            vitals,
            vitals.claiming_at,
            {"workers_alive": vitals.alive, "last_claim_at": vitals.claimed_at},
        ),
        reconciler=_component(
            "reconciler",
            vitals,
            vitals.housekeeping_at,
            {"overdue_jobs": vitals.overdue, "dead_workers_with_jobs": vitals.dead},
        ),
        timestamp=backlog.at,
    )


@router.get("/admin/worker-jobs", tags=["admin"])
async def worker_jobs(
    principal: PrincipalOf, services: ServicesOf, stale_after_minutes: StaleAfter = 15
) -> WorkerJobsResponse:
    """The organisation's jobs by kind and status, those of silent workers, and what came of the last hour's."""
    backlog = await services.backlog.get()
    async with services.reads.connect() as connection:
        samples = await read_samples(
            connection,
            principal.org_id,
            stale_after_minutes=stale_after_minutes,
            lease_seconds=services.settings.lease_seconds,
        )
        ended = await read_ended(connection, principal.org_id)
    unfinished = backlog.states(principal.org_id)
    kinds = sorted(unfinished.keys() | ended.states.keys())
    return WorkerJobsResponse(
        counts={kind: {**unfinished.get(kind, {}), **ended.states.get(kind, {})} for kind in kinds},
        stale_running=[_stale_job(sample) for sample in samples if not sample.hidden],
        recent_failures=[FailedJob.model_validate(failure) for failure in ended.failures],
        durations_last_hour=[JobDuration.model_validate(duration) for duration in ended.durations],
        stale_after_minutes=stale_after_minutes,
        timestamp=backlog.at,
    )


def _key_slots(key: KeySlots) -> KeySlotsResponse:
    return KeySlotsResponse(
        queue_key=key.key,
        total_slots=key.total,
        active_slots=key.active,
        slots=[
            SlotResponse(
                queue_key=key.key,
                slot=slot.number,
                locked_by=slot.worker_id,
                locked_until=slot.lease_until,
                is_active=slot.alive,
            )
            for slot in key.slots
        ],
    )


def _capacities(backlog: Backlog) -> list[CapacityResponse]:
    return [_capacity(capacity) for capacity in backlog.capacities()]


def _capacity(capacity: Capacity) -> CapacityResponse:
    key = capacity.key
    return CapacityResponse(
        queue_key=key.name,
        active=key.claimed,
        queued=capacity.ready,
        queued_scheduled=capacity.scheduled,
        queued_held=capacity.held,
        running=capacity.running,
        limit=key.limit,
        deploy_limit=key.deploy_limit,
        override_limit=key.override_limit,
        paused=key.paused,
        fill=capacity.fill,
        oldest_queued_age_seconds=capacity.oldest_ready_seconds,
        wait_p50_seconds=key.wait_p50_seconds,
        wait_p95_seconds=key.wait_p95_seconds,
    )


def _component(
    name: str, vitals: Vitals, updated_at: datetime | None, payload: dict[str, object]
) -> ComponentResponse | None:
    if updated_at is None:
        return None
    age = max(0.0, (vitals.at - updated_at).total_seconds())
    return ComponentResponse(component=name, updated_at=updated_at, age_seconds=age, payload=payload)


def _trial_sample(sample: Sample) -> TrialSample:
    return TrialSample(
        trial_id=sample.subject_id,
        queue_key=sample.key,
        harbor_stage=sample.harbor_stage,
        current_worker_id=sample.worker_id,
        current_queue_slot=sample.slot,
        heartbeat_at=sample.heartbeat_at,
    )


def _stale_job(sample: Sample) -> StaleJob:
    return StaleJob(
        id=str(sample.id),
        kind=sample.kind,
        queue_key=sample.key,
        subject_id=sample.subject_id,
        worker_id=sample.worker_id,
        started_at=sample.started_at,
        last_heartbeat_at=sample.heartbeat_at,
    )
