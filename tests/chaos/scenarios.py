"""What happens to a worker in the self-test: just what brings out one of the breakages, and harms no sound build."""

import os
import signal
from collections.abc import Callable, Mapping

from chaos.clients import User
from chaos.faults import keepers
from chaos.settling import wait
from chaos.site import Site
from chaos.workload import WORKS

type Scenario = Callable[[Site, User, str], list[str]]
"""Given a worker, returns all that are involved."""

PATIENCE = 60.0
RUNNING = "SELECT worker_id FROM attempts WHERE trial_id = %s AND state = 'running' AND stage = 'agent_running'"
EXPIRE = "UPDATE workers SET lease_until = clock_timestamp() - interval '1 second' WHERE id = %s"
FIRST = "SELECT state FROM attempts WHERE trial_id = %s AND epoch = 1"
STATUS = "SELECT status FROM trials WHERE id = %s"


def take_the_trial_of_a_frozen_worker(site: Site, user: User, worker: str) -> list[str]:
    """It wakes when another has recorded the outcome."""
    trial, life = _running(site, user, "sleeping")
    site.fleet.pause(worker, whole=True)
    site.fleet.rows(EXPIRE, life)
    [second] = site.fleet.add_workers(1)
    assert wait(lambda: site.fleet.rows(STATUS, trial) == [("success",)], PATIENCE)
    site.fleet.resume(worker)
    assert wait(lambda: site.fleet.pid(worker) is None or site.fleet.rows(FIRST, trial) != [("lost",)], PATIENCE)
    return [worker, second]


def kill_a_worker_with_its_keepers(site: Site, user: User, worker: str) -> list[str]:
    _, life = _running(site, user, "sleeping")
    for pid in keepers(site.fleet, worker):
        os.kill(pid, signal.SIGKILL)
    site.fleet.kill(worker)
    site.fleet.rows(EXPIRE, life)
    site.fleet.start(worker)
    return [worker]


def keep_many_files(site: Site, user: User, worker: str) -> list[str]:
    user.submit(WORKS["many"], 1)
    return [worker]


def cancel_what_has_no_end(site: Site, user: User, worker: str) -> list[str]:
    trial, _ = _running(site, user, "endless")
    user.cancel(trial)
    return [worker]


def cancel_what_ends_soon(site: Site, user: User, worker: str) -> list[str]:
    trial, _ = _running(site, user, "sleeping")
    user.cancel(trial)
    return [worker]


def _running(site: Site, user: User, work: str) -> tuple[str, object]:
    """A trial whose agent runs, and the worker's life in which it does."""
    [trial] = user.submit(WORKS[work], 1).answers[-1]
    assert wait(lambda: bool(site.fleet.rows(RUNNING, trial)), PATIENCE)
    [(life,)] = site.fleet.rows(RUNNING, trial)
    return trial, life


SCENARIOS: Mapping[str, Scenario] = {
    "fencing removed": take_the_trial_of_a_frozen_worker,
    "sweep removed": kill_a_worker_with_its_keepers,
    "uploads not checked": keep_many_files,
    "manifest not written": keep_many_files,
    "cancels not passed on": cancel_what_has_no_end,
    "cancels forgotten in the end": cancel_what_ends_soon,
}
"""By breakage."""
