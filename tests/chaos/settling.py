"""After the faults: everything gets its time to end and to be swept, then the workers and servers are ended."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chaos.clients import User
from chaos.facts import Leftover
from chaos.site import Site
from chaos.workload import WORKS

GONE_SECONDS = 25.0
"""How long the last of what killed attempts left may take to go by itself."""
BROOMS = 3
"""Rounds of trials after which the last of what was left must be swept: each begins with a sweep of its machine."""
UNFINISHED = "SELECT id FROM trials WHERE status NOT IN ('success', 'failed') AND id LIKE %s ORDER BY id"


@dataclass(frozen=True)
class Settled:
    late: Sequence[str]
    """Trials that had not ended in time."""
    leftovers: Sequence[Leftover]


def settle(
    site: Site,
    users: Sequence[User],
    workers: Sequence[str],
    servers: Sequence[str],
    *,
    patience: float,
    gone: float = GONE_SECONDS,
    brooms: int = BROOMS,
    said: Callable[[str], None] = lambda what: None,
) -> Settled:
    """Wait at most ``patience`` seconds for the ends, and ``gone`` for what killed attempts left to go by itself."""
    deadline = time.monotonic() + patience
    for user in users:
        user.finish(deadline - time.monotonic())
    said("the users have left")
    wait(lambda: not _unfinished(site), deadline - time.monotonic())
    late = _unfinished(site)
    said("all trials have ended" if not late else f"{len(late)} trials have not ended")
    if not late:
        _sweep(site, users[0], workers, patience, gone, brooms, said)
    left = site.left_of_attempts(workers) if not late else []
    for name in (*workers, *servers):
        site.release(name)
    for name in (*workers, *servers):
        site.fleet.stop(name)
    wait(lambda: not site.left_of([*workers, *servers]), 5.0)
    said("all has stopped")
    return Settled(late, [*left, *(entry for entry in site.left_of([*workers, *servers]) if entry not in left)])


def _sweep(
    site: Site,
    sweeper: User,
    workers: Sequence[str],
    patience: float,
    gone: float,
    brooms: int,
    said: Callable[[str], None],
) -> None:
    wait(lambda: not site.left_of_attempts(workers), gone)
    for _ in range(brooms):
        left = site.left_of_attempts(workers)
        if not left:
            said("nothing is left to sweep")
            return
        said(f"to be swept: {', '.join(f'{entry.kind} {entry.name}' for entry in left)}")
        for _ in workers:
            sweeper.submit(WORKS["short"], 2)
        wait(lambda: not _unfinished(site), patience)
        wait(lambda: not site.left_of_attempts(workers), 2.0)


def _unfinished(site: Site) -> list[str]:
    return [str(row[0]) for row in site.fleet.rows(UNFINISHED, f"{site.tag}%")]


def wait(condition: Callable[[], bool], seconds: float) -> bool:
    """Until it is true, or that many seconds; whether it is."""
    deadline = time.monotonic() + seconds
    while not (held := condition()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return held
