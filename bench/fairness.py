"""One user floods a key, three arrive with a few jobs each: who is served when, and how long each waits."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncEngine

from bench import queues
from bench.databases import database
from bench.figures import percentile
from bench.options import Options
from bench.table import markdown

FLOOD, FEW, SLOTS = 5000, 20, 8
WORK_SECONDS = 0.2
BEFORE_SECONDS, WINDOW_SECONDS = 2.0, 0.5
FLOODER, GUESTS = "u0", ("u1", "u2", "u3")
USERS = (FLOODER, *GUESTS)


@dataclass
class Course:
    """What happened. Times are of this process' monotonic clock, in seconds."""

    arrived: dict[str, float] = field(default_factory=dict)
    started: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    ended: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @property
    def guests_done(self) -> bool:
        return all(len(self.ended[user]) == FEW for user in GUESTS)

    def waits(self, user: str) -> Sequence[float]:
        return [begin - self.arrived[user] for begin in self.started[user]]


def fairness(_: Options) -> str:
    with database() as where:
        course = asyncio.run(observed(where.url))
    slots, rate = f"{SLOTS} slots, jobs of {WORK_SECONDS:g} s", SLOTS / WORK_SECONDS
    return "\n\n".join(
        (
            f"{FLOODER} queues {FLOOD} jobs; after {BEFORE_SECONDS:g} s the others come with {FEW} each. {slots}.\n"
            f"In the order of arrival the others would wait {FLOOD / rate - BEFORE_SECONDS:.0f} s.",
            markdown(("seconds since the others came", *(f"starts of {user}" for user in USERS)), windows(course)),
            markdown(("user", "jobs", "first wait", "median wait", "longest wait"), waits(course)),
            markdown(("while all four have jobs waiting", "starts", "share"), shares(course)),
        )
    )


def windows(course: Course) -> Sequence[Sequence[str]]:
    """Starts of each user, with their share, by window of time."""
    came = min(course.arrived[user] for user in GUESTS)
    lines = []
    for window, counts in sorted(by_window(course, came).items()):
        begin = window * WINDOW_SECONDS
        total = counts.total()
        cells = [f"{counts[user]} ({counts[user] / total:.0%})" for user in USERS]
        lines.append((f"{begin:+.1f} to {begin + WINDOW_SECONDS:+.1f}", *cells))
    return lines


def by_window(course: Course, came: float) -> Mapping[int, Counter[str]]:
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for user in USERS:
        for begin in course.started[user]:
            found[int((begin - came) // WINDOW_SECONDS)][user] += 1
    return found


def waits(course: Course) -> Sequence[Sequence[str]]:
    lines = []
    for user in USERS:
        found = course.waits(user)
        figures = (found[0], percentile(found, 0.5), max(found))
        jobs = f"{len(found)} of {FLOOD} started" if user == FLOODER else str(FEW)
        lines.append((user, jobs, *(f"{figure:.2f} s" for figure in figures)))
    return lines


def shares(course: Course) -> Sequence[Sequence[str]]:
    """From the arrival of the last guest to the moment when the first of them has nothing left that waits."""
    begin = max(course.arrived[user] for user in GUESTS)
    end = min(course.started[user][-1] for user in GUESTS)
    counts = {user: sum(begin <= moment <= end for moment in course.started[user]) for user in USERS}
    return [(user, str(count), f"{count / sum(counts.values()):.0%}") for user, count in counts.items()]


async def observed(url: str) -> Course:
    course = Course()
    async with queues.queue(url, keys=1, users=len(USERS), limit=SLOTS) as engine:
        await _arrive(engine, course, FLOODER, FLOOD)
        workers = [asyncio.create_task(_work(engine, course)) for _ in range(SLOTS)]
        await asyncio.sleep(BEFORE_SECONDS)
        for user in GUESTS:
            await _arrive(engine, course, user, FEW)
        await asyncio.gather(*workers)
    return course


async def _arrive(engine: AsyncEngine, course: Course, user: str, count: int) -> None:
    await queues.add(engine, user, count)
    course.arrived[user] = time.monotonic()


async def _work(engine: AsyncEngine, course: Course) -> None:
    """One slot of a worker: takes a job, sleeps, reports it; until a second after the guests are done."""
    ends = float("inf")
    while time.monotonic() < ends:
        async with engine.begin() as connection:
            held = await queues.take(connection, 1)
        for one in held:
            user = one.subject_id.partition("-")[0]
            course.started[user].append(time.monotonic())
            await asyncio.sleep(WORK_SECONDS)
            await queues.complete(engine, one)
            course.ended[user].append(time.monotonic())
        if course.guests_done:
            ends = min(ends, time.monotonic() + 1)
