"""The state of the queue and of those who work on it."""

from datetime import datetime
from typing import Any

from pydantic import Field

from oddish.schemas.base import ResponseBody


class SlotResponse(ResponseBody):
    queue_key: str
    slot: int
    locked_by: str = Field(description="Id of the worker.")
    locked_until: datetime | None = Field(description="End of its lease; null when nobody knows it any more.")
    is_active: bool


class KeySlotsResponse(ResponseBody):
    queue_key: str
    total_slots: int = Field(description="The limit of the key.")
    active_slots: int
    slots: list[SlotResponse] = Field(description="The 100 held longest; a free slot is not listed.")


class SlotsResponse(ResponseBody):
    """Running jobs, one slot each, of all organisations."""

    queue_keys: list[KeySlotsResponse]
    total_slots: int
    total_active: int
    timestamp: datetime


class TrialQueue(ResponseBody):
    queue_key: str
    queued: int
    running: int


class KindQueue(TrialQueue):
    kind: str


class QueueStatusResponse(ResponseBody):
    """Unfinished jobs of all organisations; `queued` are those that do not run, whatever they wait for."""

    queues: list[KindQueue]
    trial_queues: list[TrialQueue]
    analysis_queued: int
    analysis_running: int
    verdict_queued: int
    verdict_running: int
    timestamp: datetime = Field(description="When they were counted, a few seconds ago at most.")


class StuckCounts(ResponseBody):
    """Of all organisations."""

    running_stale_heartbeat: int = Field(description="Running jobs whose workers have been silent for too long.")
    running_lease_ended: int = Field(description="Running jobs whose workers' leases have ended.")
    active_tasks_without_active_trials: int = Field(
        description="Tasks of which a job runs for a trial that has ended or was deleted."
    )
    retrying_without_worker: int = Field(description="Jobs to run again in pools that no living worker offers.")


class TrialSample(ResponseBody):
    trial_id: str
    queue_key: str
    harbor_stage: str | None
    current_worker_id: str
    current_queue_slot: int
    heartbeat_at: datetime | None = Field(description="The worker's last sign of life; null when nobody knows it.")


class TaskSample(ResponseBody):
    task_id: str
    trial_id: str
    current_worker_id: str


class OrphanedStateResponse(ResponseBody):
    """What seems to be run by nobody. The samples, 20 of each at most, are of the caller's organisation."""

    counts: StuckCounts
    trial_samples: list[TrialSample]
    task_samples: list[TaskSample]
    stale_after_minutes: int
    timestamp: datetime


class PaceResponse(ResponseBody):
    kind: str
    started_5m: int
    started_15m: int
    started_60m: int
    finished_5m: int
    finished_15m: int
    finished_60m: int


class CapacityResponse(ResponseBody):
    queue_key: str
    active: int = Field(description="Slots in use, by the counter that limits them.")
    queued: int = Field(description="Ready to run.")
    queued_scheduled: int = Field(description="Waiting for the time of their next attempt.")
    queued_held: int = Field(description="Waiting for other jobs of their submission.")
    running: int
    limit: int
    deploy_limit: int
    override_limit: int | None
    paused: bool
    fill: float = Field(description="Share of the limit that is in use, from 0 to 1.")
    oldest_queued_age_seconds: float | None
    wait_p50_seconds: float | None = Field(description="How long those that run now had been ready before.")
    wait_p95_seconds: float | None


class ComponentResponse(ResponseBody):
    component: str
    updated_at: datetime
    age_seconds: float
    payload: dict[str, Any]


class QueueHealthResponse(ResponseBody):
    """All organisations' jobs; a job is queued when it is unfinished and does not run."""

    totals_queued: int
    totals_running: int
    throughput: list[PaceResponse]
    capacity: list[CapacityResponse]
    dispatcher: ComponentResponse | None = Field(
        description="The last sign of life of any worker, or its last claim; null when there has been no worker."
    )
    reconciler: ComponentResponse | None = Field(
        description="Until when everything that was due had been promoted or taken back; null as above."
    )
    timestamp: datetime = Field(description="When the capacity was counted, a few seconds ago at most.")


class StaleJob(ResponseBody):
    id: str
    kind: str
    queue_key: str
    subject_id: str
    worker_id: str
    started_at: datetime
    last_heartbeat_at: datetime | None


class FailedJob(ResponseBody):
    id: str
    kind: str
    queue_key: str
    subject_id: str
    epoch: int
    finished_at: datetime
    error_message: str
    last_heartbeat_error: str | None


class JobDuration(ResponseBody):
    kind: str
    queue_key: str
    sample_count: int
    p50: float
    p95: float


class WorkerJobsResponse(ResponseBody):
    """Jobs of the caller's organisation."""

    counts: dict[str, dict[str, int]] = Field(
        description="By kind and status: the unfinished ones, and those that have ended within the last hour."
    )
    stale_running: list[StaleJob]
    recent_failures: list[FailedJob] = Field(
        description="The 20 newest of the last hour, those that will be tried again included."
    )
    durations_last_hour: list[JobDuration]
    stale_after_minutes: int
    timestamp: datetime
