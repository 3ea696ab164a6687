"""What holds a waiting trial back, in words. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from oddish.trials.catalogue import ANY_HARBOR


@dataclass(frozen=True)
class Pool:
    """Who could run the trial."""

    name: str
    """``<environment>@<engine>``."""
    workers: int
    """Alive."""
    free_mb: int | None
    """Most memory that one of them has left beside a free place; None when none has a place, or claims for it."""
    seen_at: datetime | None
    """When the last one of those that are gone was alive."""
    unable: str | None
    """Why the last worker that wanted to offer it could not."""
    declines: str | None = None
    """What a worker with a free place does that claims nothing."""


@dataclass(frozen=True)
class Line:
    """What the trial shares with others of its model and user."""

    key: str
    running: int
    limit: int
    paused: bool
    cap: str | None
    """One that is full."""
    cap_limit: int | None


@dataclass(frozen=True)
class Group:
    """The jobs it was submitted with."""

    max_running: int | None
    """That are released at a time."""
    released: int
    before: int
    """Unfinished jobs of the group that it comes after, or trials of oracle and nop that its gate waits for."""
    before_ids: Sequence[str]
    """The first trials of these."""
    gated: bool = False
    """It runs only if oracle and nop find the task sound."""


def holdup(
    *, state: str, run_at: datetime | None, memory_mb: int, pool: Pool, line: Line, group: Group | None
) -> str | None:
    """The first thing that would have to change; None when it is only the trial's place in the line."""
    if not pool.workers:
        return _unserved(pool)
    if line.paused:
        return f"the queue of {line.key} is paused"
    if state == "held" and group is not None:
        return _held(group)
    if state == "scheduled" and run_at is not None:
        return f"the next attempt starts at {run_at:%H:%M:%S} UTC"
    if line.running >= line.limit:
        return _full(line.key, line.limit)
    if line.cap is not None:
        kind, _, owner = line.cap.partition(":")
        capped = {"provider": f"provider {owner}", "gateway": "the gateway for this organisation"}
        return _full(capped.get(kind, "this organisation"), line.cap_limit or 0)
    if pool.free_mb is None:
        return _unclaimed(pool)
    if memory_mb > pool.free_mb:
        return f"needs {memory_mb} MB of memory, and no worker has more than {max(0, pool.free_mb)} MB left"
    return None


def _unserved(pool: Pool) -> str:
    environment, _, engine = pool.name.partition("@")
    missing = f"no live worker offers environment {environment} with {_engine(engine)}"
    if pool.unable is not None:
        return f"{missing}: {pool.unable}"
    seen = f"the last one was alive at {pool.seen_at:%Y-%m-%d %H:%M:%S} UTC" if pool.seen_at else "none is known"
    return f"{missing}; {seen}"


def _unclaimed(pool: Pool) -> str:
    if pool.workers == 1:
        return f"the only worker {pool.declines or 'is busy'}"
    return f"all workers are busy, but one that {pool.declines}" if pool.declines else "all workers are busy"


def _engine(engine: str) -> str:
    return "another Harbor than its own" if engine == ANY_HARBOR else engine


def _held(group: Group) -> str:
    if group.before:
        named = ", ".join(group.before_ids)
        more = group.before - len(group.before_ids)
        named += f" and {more} more" if named and more else ""
        if group.gated:
            return f"runs if oracle and nop find the task sound: waits for {named}"
        others = "another job ends" if group.before == 1 else f"{group.before} other jobs end"
        return f"waits until {others}: {named}" if named else f"waits until {others}"
    if group.max_running is not None and group.released >= group.max_running:
        return _full("its submission", group.max_running)
    return "is about to be released from its submission"


def _full(sharers: str, limit: int) -> str:
    if limit == 0:
        return f"nothing of {sharers} may run: the limit is 0"
    few = "1 trial" if limit == 1 else f"{limit} trials"
    return f"{few} of {sharers} may run at once, and do"
