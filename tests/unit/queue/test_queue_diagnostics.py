from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from oddish.queue.diagnostics.backlog import Backlog, Depth, Group, Key
from oddish.queue.diagnostics.vitals import Vitals

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
KEY = Key("p/m", 8, None, paused=False, claimed=2, wait_p50_seconds=None, wait_p95_seconds=None)
IDLE = replace(KEY, name="p/idle", claimed=0)
GROUPS = [
    Group("p/m", "a", "trial", "local", "ready", 3, 10.0),
    Group("p/m", "b", "trial", "docker", "ready", 2, 90.0),
    Group("p/m", "a", "trial", "local", "scheduled", 4, None),
    Group("p/m", "a", "trial", "remote", "held", 5, None),
    Group("p/m", "b", "trial", "local", "running", 2, None),
    Group("p/m", "b", "analysis", "local", "ready", 1, 1.0),
]
BACKLOG = Backlog(NOW, [IDLE, KEY], GROUPS)


def test_a_key_counts_the_jobs_of_all_organisations() -> None:
    idle, busy = BACKLOG.capacities()
    assert (busy.ready, busy.scheduled, busy.held, busy.running, busy.oldest_ready_seconds) == (6, 4, 5, 2, 90.0)
    assert (idle.ready, idle.scheduled, idle.held, idle.running, idle.oldest_ready_seconds) == (0, 0, 0, 0, None)


@pytest.mark.parametrize(
    ("deploy", "override", "claimed", "fill"),
    [(8, None, 2, 0.25), (8, 4, 2, 0.5), (8, 1, 2, 1.0), (8, 0, 0, 1.0), (8, None, 0, 0.0)],
)
def test_a_key_that_was_lowered_below_what_runs_is_full(
    deploy: int, override: int | None, claimed: int, fill: float
) -> None:
    key = replace(KEY, deploy_limit=deploy, override_limit=override, claimed=claimed)
    [capacity] = Backlog(NOW, [key], []).capacities()
    assert capacity.fill == fill


def test_whatever_does_not_run_is_queued() -> None:
    assert BACKLOG.depths() == [Depth("analysis", "p/m", 1, 0), Depth("trial", "p/m", 14, 2)]


def test_an_organisation_has_its_own_counts() -> None:
    assert BACKLOG.states("a") == {"trial": {"ready": 3, "scheduled": 4, "held": 5}}
    assert BACKLOG.states("b") == {"trial": {"ready": 2, "running": 2}, "analysis": {"ready": 1}}
    assert BACKLOG.states("c") == {}


def test_what_is_held_waits_for_no_worker() -> None:
    assert BACKLOG.waiting_pools() == ["docker", "local"]


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


QUIET = Vitals(NOW, ago(3), 1, claimed_at=None, due_at=None, overdue=0, lost_at=None, dead=0)


def test_the_last_sign_of_life_is_a_beat_or_a_claim() -> None:
    assert QUIET.claiming_at == ago(3)
    assert replace(QUIET, claimed_at=ago(9)).claiming_at == ago(3)
    assert replace(QUIET, claimed_at=ago(1)).claiming_at == ago(1)
    assert replace(QUIET, beat_at=None).claiming_at is None


def test_housekeeping_ended_when_the_first_thing_was_left_undone() -> None:
    assert QUIET.housekeeping_at == ago(3)
    assert replace(QUIET, due_at=ago(60)).housekeeping_at == ago(60)
    assert replace(QUIET, due_at=ago(60), lost_at=ago(90)).housekeeping_at == ago(90)
    assert replace(QUIET, due_at=ago(1)).housekeeping_at == ago(3)
    assert replace(QUIET, beat_at=None, due_at=ago(60)).housekeeping_at is None
