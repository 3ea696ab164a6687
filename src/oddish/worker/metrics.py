"""What a worker counts."""

from collections.abc import Callable

from prometheus_client import Counter, Gauge, Histogram

from oddish.metrics import REGISTRY

CLAIMS = Counter("oddish_claims_total", "Jobs that this worker claimed.", ["kind"], registry=REGISTRY)
CLAIM_SECONDS = Histogram(
    "oddish_claim_seconds",
    "Time of one look for jobs, whatever it found.",
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 10),
    registry=REGISTRY,
)
OUTCOMES = Counter(
    "oddish_outcomes_total",
    "Executions whose outcome was recorded, with the main reason if there is one.",
    ["kind", "status", "reason"],
    registry=REGISTRY,
)
REFUSED = Counter(
    "oddish_outcomes_refused_total", "Reports of executions that no longer owned their job.", registry=REGISTRY
)
LOST = Counter(
    "oddish_attempts_lost_total",
    "Attempts that ended without an outcome and are not charged. Cause worker: taken back from a dead worker by this "
    "one; engine: its fork server ended; released: given back; forgotten: run by nobody.",
    ["cause"],
    registry=REGISTRY,
)
REAPED = Counter(
    "oddish_workers_reaped_total", "Dead workers whose jobs were taken back by this one.", registry=REGISTRY
)
FENCED = Counter(
    "oddish_worker_fenced_total", "Times that this worker lost its lease, after which it ends.", registry=REGISTRY
)
LEAKS = Counter(
    "oddish_sandbox_leaks_total", "Sandboxes of dead attempts that the sweeper found and removed.", registry=REGISTRY
)
LIVE_EVENTS = Counter("oddish_live_events_total", "Events of live transcripts that were stored.", registry=REGISTRY)
LIVE_DROPPED = Counter(
    "oddish_live_dropped_total",
    "What live transcripts leave out. Event: beyond the limit, or of an attempt that is over; line: of output that "
    "came faster than it was read.",
    ["what"],
    registry=REGISTRY,
)
LIVE_FAILURES = Counter(
    "oddish_live_failures_total",
    "Failures to read, to write or to end a live transcript; trials go on without.",
    ["what"],
    registry=REGISTRY,
)
CALLBACKS = Counter(
    "oddish_callbacks_total",
    "Attempts to tell the callbacks of gateway jobs, by what came of them; refused: others had taken them over.",
    ["kind", "result"],
    registry=REGISTRY,
)
RUNNING = Gauge("oddish_worker_executions", "Executions of this worker that have not ended.", registry=REGISTRY)
SLOTS = Gauge("oddish_worker_slots", "Executions that it may run at once.", registry=REGISTRY)
LEASE = Gauge("oddish_worker_lease_seconds", "How much is left of its lease.", registry=REGISTRY)

NO_REASON = "none"

for cause in ("worker", "engine", "released", "forgotten"):
    LOST.labels(cause)
for what in ("event", "line"):
    LIVE_DROPPED.labels(what)
for what in ("read", "write", "end"):
    LIVE_FAILURES.labels(what)


def count_outcome(kind: str, status: str, reasons: tuple[str, ...]) -> None:
    """Count a recorded outcome; ``reasons`` are those of ``oddish.outcome.REASONS``, the main one first."""
    OUTCOMES.labels(kind, status, reasons[0] if reasons else NO_REASON).inc()


def watch(slots: int, *, running: Callable[[], int], lease: Callable[[], float]) -> None:
    """Show the state of the worker that this process is; ``lease`` in seconds."""
    SLOTS.set(slots)
    RUNNING.set_function(running)
    LEASE.set_function(lease)
