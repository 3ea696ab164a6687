"""The JSON of the five reads about the state of the queue, as far as the client reads it."""

from typing import NotRequired, TypedDict

from oddish.client.types import JSON


class KeySlots(TypedDict):
    queue_key: str
    total_slots: int
    active_slots: int


class Slots(TypedDict):
    queue_keys: list[KeySlots]
    total_slots: int
    total_active: int


class KindQueue(TypedDict):
    kind: str
    queue_key: str
    queued: int
    running: int


class QueueStatus(TypedDict):
    queues: list[KindQueue]


class TrialSample(TypedDict):
    trial_id: str
    queue_key: str
    harbor_stage: str | None
    current_worker_id: str | None
    current_queue_slot: int | None
    heartbeat_at: str | None


class TaskSample(TypedDict):
    task_id: str


class StuckCounts(TypedDict):
    running_stale_heartbeat: int
    running_lease_ended: NotRequired[int]
    active_tasks_without_active_trials: int
    retrying_without_worker: int


class OrphanedState(TypedDict):
    counts: StuckCounts
    trial_samples: list[TrialSample]
    task_samples: list[TaskSample]
    stale_after_minutes: int


class Pace(TypedDict):
    kind: str
    started_5m: int
    started_60m: int
    finished_5m: int
    finished_60m: int


class Capacity(TypedDict):
    queue_key: str
    queued: int
    queued_scheduled: int
    queued_held: NotRequired[int]
    running: int
    limit: int
    paused: NotRequired[bool]
    fill: float
    oldest_queued_age_seconds: float | None
    wait_p50_seconds: float | None
    wait_p95_seconds: float | None


class Component(TypedDict):
    component: str
    updated_at: str
    age_seconds: float
    payload: dict[str, JSON]


class QueueHealth(TypedDict):
    totals_queued: int
    totals_running: int
    throughput: list[Pace]
    capacity: list[Capacity]
    dispatcher: Component | None
    reconciler: Component | None


class FailedJob(TypedDict):
    id: str
    kind: str
    queue_key: str
    subject_id: NotRequired[str]
    finished_at: str
    error_message: str | None
    last_heartbeat_error: str | None


class JobDuration(TypedDict):
    kind: str
    queue_key: str
    sample_count: int
    p50: float
    p95: float


class WorkerJobs(TypedDict):
    counts: dict[str, dict[str, int]]
    recent_failures: list[FailedJob]
    durations_last_hour: list[JobDuration]
