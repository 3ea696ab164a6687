"""What a process counts about itself, in the text format of Prometheus.

Names begin with ``oddish_`` and stay. Labels have few values: queue keys, kinds, statuses, reasons, routes; never ids.
"""

import platform
from collections.abc import Iterable, Iterator
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sqlalchemy import QueuePool
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.db.revision import HEAD

CONTENT_TYPE = CONTENT_TYPE_LATEST
REGISTRY = CollectorRegistry()
"""Of this process, which is one server or one worker."""

ProcessCollector(registry=REGISTRY)
BUILD = Gauge(
    "oddish_build_info",
    "The release, the revision of the schema that it is written for, and Python.",
    ["process", "version", "schema", "python"],
    registry=REGISTRY,
)
STORE_ERRORS = Counter(
    "oddish_store_errors_total", "Failures of the object store, by the code of the error.", ["code"], registry=REGISTRY
)
COUNTER_DRIFT = Counter(
    "oddish_counter_drift_total",
    "Counters of the queue that the audit found off and put right, by kind. Each is a defect.",
    ["kind"],
    registry=REGISTRY,
)
CONNECTIONS = Gauge(
    "oddish_database_connections", "Connections of this process to the database.", ["state"], registry=REGISTRY
)


def name_process(process: Literal["server", "worker"], version: str) -> None:
    """Say what this process is, and of which release."""
    BUILD.labels(process, version, HEAD, platform.python_version()).set(1)


def watch_pool(engine: AsyncEngine) -> None:
    """Show how many connections of ``engine`` are in use and how many there may be."""
    pool = engine.sync_engine.pool
    if isinstance(pool, QueuePool):
        CONNECTIONS.labels("in_use").set_function(pool.checkedout)
        CONNECTIONS.labels("most").set_function(lambda: pool.size() + max(pool._max_overflow, 0))


class _Together(Collector):
    def __init__(self, further: Iterable[Metric]) -> None:
        self._further = further

    def collect(self) -> Iterator[Metric]:
        yield from REGISTRY.collect()
        yield from self._further


def render(further: Iterable[Metric] = ()) -> bytes:
    """All series of this process, and ``further`` ones that were looked up for this answer."""
    return generate_latest(_Together(further))
