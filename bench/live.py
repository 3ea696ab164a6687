"""Live transcripts: trials that talk without a pause, followed or not: what arrives, when, and what it takes."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from types import MappingProxyType

import psycopg

from bench import cpu, talking
from bench.figures import percentile
from bench.idle import database_url
from bench.options import Options
from bench.progress import say
from bench.stacks import ended, service_pid, stack
from bench.table import markdown
from bench.talking import RATE, Follower
from oddish.db.url import plain
from oddish.stack import client as stack_client

WARM_UP_SECONDS = 5.0
MARKS = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "the longest": 1.0}
NEVER = {"ODDISH_LIVE_UNFOLLOWED_INTERVAL_SECONDS": "3600"}
"""Of a worker that does not look at what its trials say."""


@dataclass(frozen=True)
class Round:
    """``processor`` is in percent of one processor while all of them talk, by who takes it."""

    followers: Sequence[Follower]
    processor: Mapping[str, float]
    stored: int
    """Events in the database at the end of that time."""
    stored_bytes: int
    succeeded: int


def live(options: Options) -> str:
    trials, seconds = (4, 15.0) if options.quick else (20, 60.0)
    followed = measured(trials, seconds, followed=True)
    alone = measured(trials, seconds)
    unread = measured(trials, seconds, settings=NEVER)
    return report(trials, int(RATE * seconds), followed, alone, unread)


def measured(
    trials: int, seconds: float, *, followed: bool = False, settings: Mapping[str, str] = MappingProxyType({})
) -> Round:
    slots = {"ODDISH_WORKER_CONCURRENCY": str(trials), "ODDISH_DEFAULT_CONCURRENCY": str(trials)}
    with (
        variables({**slots, **settings}),
        stack() as client,
        tempfile.TemporaryDirectory() as directory,
        talking.gate(trials) as (url, barrier),
    ):
        ids = talking.submit(client, Path(directory), url, trials=trials, seconds=seconds)
        followers = [Follower(trial_id) for trial_id in ids]
        credentials = (stack_client.ensure().url, stack_client.token())
        threads = [Thread(target=one.follow, args=credentials) for one in followers if followed]
        for thread in threads:
            thread.start()
        say(f"{trials} trials start, {'each followed' if followed else 'none followed'}")
        barrier.wait()
        say(f"all of them talk for {seconds:.0f} s")
        time.sleep(WARM_UP_SECONDS)
        processor = taken(seconds - 2 * WARM_UP_SECONDS)
        stored, stored_bytes = events()
        for thread in threads:
            thread.join()
        statuses = [ended(client, trial_id)["status"] for trial_id in ids]
    return Round(followers, processor, stored, stored_bytes, statuses.count("success"))


@contextmanager
def variables(given: Mapping[str, str]) -> Iterator[None]:
    """Of this process and what it starts."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def taken(seconds: float) -> Mapping[str, float]:
    """Percent of one processor during the next ``seconds``, by who takes it."""
    worker, api, postgres = (service_pid(name) for name in ("worker", "api", "postgres"))
    clocks: Mapping[str, Callable[[], float]] = {
        "the worker": partial(cpu.own, worker),
        "the API server": partial(cpu.whole, api),
        "the database": partial(cpu.whole, postgres),
        "the trials": partial(cpu.below, worker),
        "the followers": partial(cpu.own, os.getpid()),
    }
    began, before = time.monotonic(), {name: clock() for name, clock in clocks.items()}
    time.sleep(seconds)
    passed = time.monotonic() - began
    return {name: 100 * (clock() - before[name]) / passed for name, clock in clocks.items()}


def events() -> tuple[int, int]:
    """How many there are, and the bytes of their table and its index."""
    with psycopg.connect(plain(database_url())) as connection:
        row = connection.execute("SELECT count(*), pg_total_relation_size('trial_events') FROM trial_events").fetchone()
    assert row is not None
    return row


def report(trials: int, lines: int, followed: Round, alone: Round, unread: Round) -> str:
    lost = sum(lines - len({*one.numbers}) for one in followed.followers)
    disordered = sum(one.numbers != sorted({*one.numbers}) for one in followed.followers)
    latencies = [latency for one in followed.followers for latency in one.latencies]
    marks = ", ".join(f"{name} {percentile(latencies, share):.2f} s" for name, share in MARKS.items())
    watched, kept = (more(part.processor, unread.processor) / trials for part in (followed, alone))
    one = followed.processor["the trials"] / trials
    said = (
        f"{trials} trials, each says {RATE} lines a second, {lines:,} in all; {followed.succeeded} succeeded",
        f"lines that never arrived: {lost} of {trials * lines:,}; followers with repetitions or disorder: {disordered}",
        f"from a line to its follower: {marks}",
        f"in the database: {followed.stored:,} events in {followed.stored_bytes / 2**20:.1f} MiB",
        f"worker and database take {watched:.2f} % of a processor more for each trial followed, {kept:.2f} % "
        f"for one that nobody follows; it takes {one:.2f} % itself",
    )
    rounds = (followed, alone, unread)
    shares = [(name, *(f"{part.processor[name]:.1f}" for part in rounds)) for name in followed.processor]
    heads = ("percent of a processor", "followed", "not followed", "not looked at")
    return "\n".join((*said, "", markdown(heads, shares)))


def more(taken: Mapping[str, float], without: Mapping[str, float]) -> float:
    """What worker and database take together."""
    return sum(taken[name] - without[name] for name in ("the worker", "the database"))
