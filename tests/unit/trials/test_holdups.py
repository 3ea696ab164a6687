from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from oddish.trials.holdups import Group, Line, Pool, holdup

AT = datetime(2030, 1, 1, 12, 30, tzinfo=UTC)
POOL = Pool("docker@harbor/1.0", workers=2, free_mb=4096, seen_at=AT, unable=None)
LINE = Line("openai/gpt-5", running=0, limit=4, paused=False, cap=None, cap_limit=None)
GROUP = Group(max_running=None, released=0, before=0, before_ids=())
FULL = replace(LINE, running=4)
CALM: dict[str, Any] = {"state": "ready", "run_at": None, "memory_mb": 0, "pool": POOL, "line": LINE, "group": None}
UNSERVED = "no live worker offers environment docker with harbor/1.0"


def test_a_trial_that_is_merely_in_line_has_no_reason() -> None:
    assert holdup(**CALM) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"pool": replace(POOL, workers=0)}, f"{UNSERVED}; the last one was alive at 2030-01-01 12:30:00 UTC"),
        ({"pool": replace(POOL, workers=0, seen_at=None)}, f"{UNSERVED}; none is known"),
        ({"pool": replace(POOL, workers=0, unable="Docker is not there.")}, f"{UNSERVED}: Docker is not there."),
        (
            {"pool": replace(POOL, name="local@harbor/any", workers=0, seen_at=None)},
            "no live worker offers environment local with another Harbor than its own; none is known",
        ),
        ({"line": replace(LINE, paused=True)}, "the queue of openai/gpt-5 is paused"),
        ({"line": FULL}, "4 trials of openai/gpt-5 may run at once, and do"),
        ({"line": replace(LINE, limit=0)}, "nothing of openai/gpt-5 may run: the limit is 0"),
        (
            {"line": replace(LINE, cap="provider:openai", cap_limit=9)},
            "9 trials of provider openai may run at once, and do",
        ),
        ({"line": replace(LINE, cap="org:o1", cap_limit=9)}, "9 trials of this organisation may run at once, and do"),
        ({"line": replace(LINE, cap="org:o1", cap_limit=0)}, "nothing of this organisation may run: the limit is 0"),
        ({"pool": replace(POOL, free_mb=None)}, "all workers are busy"),
        ({"pool": replace(POOL, free_mb=None, workers=1)}, "the only worker is busy"),
        (
            {"pool": replace(POOL, free_mb=None, workers=1, declines="is about to end")},
            "the only worker is about to end",
        ),
        (
            {"pool": replace(POOL, free_mb=None, declines="is about to end")},
            "all workers are busy, but one that is about to end",
        ),
        ({"memory_mb": 8192}, "needs 8192 MB of memory, and no worker has more than 4096 MB left"),
        ({"state": "scheduled", "run_at": AT}, "the next attempt starts at 12:30:00 UTC"),
        (
            {"state": "held", "group": replace(GROUP, max_running=2, released=2)},
            "2 trials of its submission may run at once, and do",
        ),
        ({"state": "held", "group": GROUP}, "is about to be released from its submission"),
        (
            {"state": "held", "group": replace(GROUP, before=1, before_ids=["t-0"])},
            "waits until another job ends: t-0",
        ),
        (
            {"state": "held", "group": replace(GROUP, before=4, before_ids=["t-0", "t-1", "t-2"])},
            "waits until 4 other jobs end: t-0, t-1, t-2 and 1 more",
        ),
        ({"state": "held", "group": replace(GROUP, before=4)}, "waits until 4 other jobs end"),
        (
            {"state": "held", "group": replace(GROUP, before=5, before_ids=["t-0", "t-1", "t-2"], gated=True)},
            "runs if oracle and nop find the task sound: waits for t-0, t-1, t-2 and 2 more",
        ),
    ],
)
def test_what_holds_a_trial_back_is_named(changes: dict[str, Any], reason: str) -> None:
    assert holdup(**CALM | changes) == reason


@pytest.mark.parametrize(
    "changes",
    [
        {"pool": replace(POOL, workers=0)},
        {"line": replace(FULL, paused=True)},
        {"state": "held", "group": GROUP, "line": FULL},
        {"state": "scheduled", "run_at": AT, "line": FULL},
        {"line": replace(FULL, cap="org:o1", cap_limit=1)},
        {"line": replace(LINE, cap="org:o1", cap_limit=1), "pool": replace(POOL, free_mb=None)},
    ],
)
def test_what_would_have_to_change_first_is_named_alone(changes: dict[str, Any]) -> None:
    further = {"line": changes.get("line", FULL), "memory_mb": 8192}
    assert holdup(**CALM | changes) == holdup(**CALM | further | changes) != holdup(**CALM | {"memory_mb": 8192})
