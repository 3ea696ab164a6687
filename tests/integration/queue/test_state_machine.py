"""The queue under workers that die, pause, resume and report late; and proof that the machine would notice."""

import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from oddish.queue import archive, claim, finish, reap
from support.queue_machine import STATISTICS, QueueMachine

pytestmark = pytest.mark.long

EXPLORE = "ODDISH_TEST_MACHINE_RUNS"
"""Names a number of runs with random seeds, for a longer look than every test run takes."""

PROFILE = settings(
    max_examples=int(os.environ.get(EXPLORE, "10")),
    derandomize=EXPLORE not in os.environ,
    stateful_step_count=50,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def machine(database_url: str) -> type[QueueMachine]:
    return type("BoundMachine", (QueueMachine,), {"database_url": database_url})


def test_the_queue_keeps_its_promises(
    machine: type[QueueMachine], record_property: Callable[[str, object], None]
) -> None:
    STATISTICS.clear()
    run_state_machine_as_test(machine, settings=PROFILE)
    for name, count in sorted(STATISTICS.items()):
        record_property(name, count)
    print("state machine:", dict(sorted(STATISTICS.items())))  # noqa: T201 - shown with pytest -s
    assert STATISTICS["stale reports refused"] > 0
    assert STATISTICS["jobs reaped"] > 0
    assert STATISTICS["jobs archived"] > 0
    assert STATISTICS["lanes pruned"] + STATISTICS["keys pruned"] > 0


FENCED = "AND epoch = :epoch AND claim_id = :claim_id AND state = 'running'"
CAP_CHECKS = (
    "FROM queue_caps WHERE running >= coalesce(override_limit, deploy_limit)",
    ") by_cap WHERE place > room\n",
)
GUARD = "  AND EXISTS (SELECT FROM workers alive WHERE alive.lease_until > clock_timestamp())\n"


def without_fencing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FENCE", "FINISH", "RETRY"):
        statement: str = getattr(finish, name)
        assert FENCED in statement
        monkeypatch.setattr(finish, name, statement.replace(FENCED, "AND state = 'running'"))


def without_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    statement = claim.CLAIM
    for check in CAP_CHECKS:
        assert check in statement
    statement = statement.replace(CAP_CHECKS[0], "FROM queue_caps WHERE false").replace(
        CAP_CHECKS[1], ") by_cap WHERE false\n"
    )
    monkeypatch.setattr(claim, "CLAIM", statement)


def without_key_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    check = "WHERE place <= key_room AND"
    assert check in claim.CLAIM
    monkeypatch.setattr(claim, "CLAIM", claim.CLAIM.replace(check, "WHERE"))


def without_reaper_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    assert GUARD in reap.DEAD_WORKER
    monkeypatch.setattr(reap, "DEAD_WORKER", reap.DEAD_WORKER.replace(GUARD, ""))


def without_asking_what_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts jobs away by their age alone."""
    ended = "state NOT IN ('held', 'ready', 'scheduled', 'running')\n    AND finished_at <"
    assert ended in archive.ARCHIVE
    monkeypatch.setattr(archive, "ARCHIVE", archive.ARCHIVE.replace(ended, "ready_at <"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "sabotage", [without_fencing, without_caps, without_key_limit, without_reaper_guard, without_asking_what_has_ended]
)
def test_the_machine_notices(
    machine: type[QueueMachine], monkeypatch: pytest.MonkeyPatch, sabotage: Callable[[pytest.MonkeyPatch], None]
) -> None:
    sabotage(monkeypatch)
    with pytest.raises(BaseException, match=r"stale|runs|reaped|outcome|recorded|claimed|attempt"):
        run_state_machine_as_test(machine, settings=settings(PROFILE, max_examples=200))
