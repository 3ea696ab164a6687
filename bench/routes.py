"""The row about reading: every route that reads, in a database with many trials."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import httpx2

from bench import history, queues
from bench.databases import KEY, Database, api, database
from bench.figures import Figures, percentile
from bench.options import Options
from bench.progress import say
from bench.statements import StatementLog, logged
from oddish.db.url import plain

TRIALS = 100_000
POOL = "local@harbor/bench"
AUTHENTICATION = "WITH used AS"
CONNECTION_NAME = "oddish-api"
NEEDS_FILES = (
    "/store/{key}",
    "/tasks/{task_id}/files",
    "/trials/{trial_id}/files",
    "/trials/{trial_id}/result",
    "/trials/{trial_id}/logs",
    "/trials/{trial_id}/trajectory",
    "/trials/{trial_id}/debug-files",
)
"""They answer from the object store."""
FLOOR = "/health"
VARIANTS = (
    "/tasks?include_trials=false",
    "/tasks?include_trials=false&status=failed",
    "/tasks?include_trials=false&user=user%203&offset=100",
    "/tasks?include_trials=false&experiment_id={experiment_id}",
    "/tasks?experiment_id={experiment_id}&include_queue_info=true",
    "/admin/costs?window_days=0",
    "/admin/costs/users/{user}?window_days=0",
)
"""Beside the routes without a query."""


@dataclass(frozen=True)
class Read:
    path: str
    milliseconds: Sequence[float]
    statements: int
    size: int
    """Bytes of the answer."""


def routes(options: Options) -> Figures:
    trials = options.size(TRIALS) if not options.quick else 4000
    with database() as where, api(where) as url:
        say(f"filling in {trials} trials")
        history.fill(where, before=0, trials=trials)
        asyncio.run(history.keep_up(where, trials=trials))
        asyncio.run(queues.offer(where.url, pool=POOL))
        floor, reads = measured(where, url, trials=trials, rounds=options.rounds(30, 5))
    slowest = max(reads, key=lambda read: percentile(read.milliseconds, 0.95))
    most = max(reads, key=lambda read: read.statements)
    notes = [f"the slowest is {slowest.path}, most statements takes {most.path}", *map(said, reads)]
    return Figures(
        slowest.milliseconds,
        floor,
        further={"statements": most.statements},
        details={read.path: read.milliseconds for read in reads},
        notes=notes,
    )


def said(read: Read) -> str:
    return f"{read.path}: {read.statements} statements, {read.size / 1024:.0f} KiB"


def measured(where: Database, url: str, *, trials: int, rounds: int) -> tuple[Sequence[float], Sequence[Read]]:
    """Of ``/health`` and of every read, by turns; the first of each is not counted."""
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx2.Client(base_url=url, headers=headers, timeout=60) as client:
        paths = readable(client, history.names(trials))
        say(f"reading {len(paths)} routes")
        times: dict[str, list[float]] = {path: [] for path in (FLOOR, *paths)}
        sizes = {path: len(get(client, path).content) for path in times}
        for _ in range(rounds):
            for path, taken in times.items():
                began = time.perf_counter()
                get(client, path)
                taken.append((time.perf_counter() - began) * 1000)
        with logged(where.log, plain(where.url)) as log:
            counts = {path: statements(client, log, path) for path in paths}
    return times[FLOOR], [Read(path, times[path], counts[path], sizes[path]) for path in paths]


def readable(client: httpx2.Client, names: Mapping[str, str]) -> list[str]:
    """Paths of what can be read without files, with names filled in."""
    described: Mapping[str, Mapping[str, object]] = client.get("/openapi.json").json()["paths"]
    templates = [
        path
        for path, methods in described.items()
        if "get" in methods and not path.startswith(NEEDS_FILES) and path != FLOOR
    ]
    quoted = {name: quote(value) for name, value in names.items()}
    known = [path for path in templates if all(part[1:-1] in names for part in path.split("/") if part.startswith("{"))]
    return [path.format(**quoted) for path in (*known, *VARIANTS)]


def statements(client: httpx2.Client, log: StatementLog, path: str) -> int:
    log.mark()
    get(client, path)
    found = log.since(log.processes(CONNECTION_NAME))
    return sum(not statement.startswith(AUTHENTICATION) for statement in found)


def get(client: httpx2.Client, path: str) -> httpx2.Response:
    answer = client.get(path)
    if answer.status_code != 200:
        raise RuntimeError(f"GET {path} was answered {answer.status_code}: {answer.text[:300]}")
    return answer
