"""What a server counts of its requests, and what it shows of the queue."""

from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prometheus_client import Counter, Histogram
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.types import Scope

from oddish.api.load import alive_workers
from oddish.metrics import REGISTRY
from oddish.queue.diagnostics.backlog import Backlog, Capacity
from oddish.queue.limits import Limit, list_caps

MOST_KEYS = 500
"""Queue keys with series of their own, those with the most jobs; models are named by whoever submits."""
OTHERS = "(others)"
UNMATCHED = "(none)"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

REQUESTS = Counter(
    "oddish_http_requests_total",
    "Requests that were answered, by route; status 499 when the client left.",
    ["method", "route", "status"],
    registry=REGISTRY,
)
SECONDS = Histogram(
    "oddish_http_request_seconds",
    "Time from a request's head to the end of its answer.",
    ["method", "route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60),
    registry=REGISTRY,
)


@dataclass(frozen=True, slots=True)
class Picture:
    """The queue of the deployment at one moment."""

    backlog: Backlog
    caps: Sequence[Limit]
    workers: int


async def read_picture(connection: AsyncConnection, backlog: Backlog) -> Picture:
    return Picture(backlog, await list_caps(connection), await alive_workers(connection))


def count_request(scope: Scope, status: int | None, seconds: float) -> None:
    """Count a request that has ended; ``scope`` is as the router left it."""
    route = getattr(scope.get("route"), "path", UNMATCHED)
    method = scope["method"] if scope["method"] in METHODS else "(other)"
    REQUESTS.labels(method, route, status or 0).inc()
    SECONDS.labels(method, route).observe(seconds)


def queue_series(picture: Picture | None, most_keys: int = MOST_KEYS) -> Iterator[Metric]:
    """The series of ``picture``; None when the database did not give one."""
    up = float(picture is not None)
    yield GaugeMetricFamily("oddish_database_up", "Whether the database said what is shown of the queue.", up)
    if picture is None:
        return
    capacities = picture.backlog.capacities()
    busiest = sorted(capacities, key=lambda capacity: (-_jobs(capacity), capacity.key.name))[:most_keys]
    shown = {capacity.key.name for capacity in busiest if _jobs(capacity) or capacity.key.override_limit is not None}
    yield from _depths(capacities, shown)
    yield from _limits([capacity for capacity in capacities if capacity.key.name in shown], picture.caps)
    yield GaugeMetricFamily("oddish_workers", "Workers whose lease is valid.", picture.workers)


def _jobs(capacity: Capacity) -> int:
    return capacity.ready + capacity.scheduled + capacity.held + capacity.running


def _depths(capacities: Sequence[Capacity], shown: set[str]) -> Iterator[Metric]:
    counted: Tally[tuple[str, str]] = Tally()
    ages: dict[str, float] = {}
    for capacity in capacities:
        key = capacity.key.name if capacity.key.name in shown else OTHERS
        for state in ("held", "ready", "running", "scheduled"):
            counted[key, state] += getattr(capacity, state)
        if capacity.oldest_ready_seconds is not None:
            ages[key] = max(ages.get(key, 0.0), capacity.oldest_ready_seconds)
    jobs = GaugeMetricFamily("oddish_queue_jobs", "Unfinished jobs, by queue key and state.", labels=["key", "state"])
    for labels, number in counted.items():
        jobs.add_metric(labels, number)
    yield jobs
    oldest = GaugeMetricFamily(
        "oddish_queue_oldest_ready_seconds", "For how long the oldest job that could run has waited.", labels=["key"]
    )
    for key, age in ages.items():
        oldest.add_metric([key], age)
    yield oldest


def _limits(keys: Sequence[Capacity], caps: Sequence[Limit]) -> Iterator[Metric]:
    """Caps of organisations are theirs alone, and as many as there are organisations."""
    uses = [("key", entry.key.name, entry.key.claimed, 0 if entry.key.paused else entry.key.limit) for entry in keys]
    providers = [cap for cap in caps if cap.name.startswith("provider:")]
    uses += [("cap", cap.name, cap.running, cap.limit) for cap in providers if cap.limit is not None]
    running = GaugeMetricFamily("oddish_queue_running", "Jobs that run, by key or cap.", labels=["kind", "name"])
    limit = GaugeMetricFamily("oddish_queue_limit", "How many may run; 0 while paused.", labels=["kind", "name"])
    for kind, name, used, most in uses:
        running.add_metric([kind, name], used)
        limit.add_metric([kind, name], most)
    yield running
    yield limit
