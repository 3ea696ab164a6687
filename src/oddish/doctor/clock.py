"""The clocks of this machine, and how far they are from others."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from oddish.doctor.finding import Finding, ok, warning

CLOCK = "Clock"
MOST_SKEW = 5.0
_RELEASED = datetime(2025, 1, 1, tzinfo=UTC)
_PAUSE = 0.02


def look() -> Iterator[Finding]:
    now = time.time()
    before = time.monotonic()
    time.sleep(_PAUSE)
    yield judge_clock(datetime.fromtimestamp(now, UTC), time.monotonic() - before)


def judge_clock(now: datetime, passed: float) -> Finding:
    """``passed``: what the monotonic clock has counted of 20 ms. Time zones do not matter."""
    if passed < _PAUSE / 2:
        return warning(
            CLOCK,
            f"The monotonic clock counted {passed * 1000:.1f} ms of 20 ms: time limits will not hold.",
            "Restart the machine.",
        )
    if now < _RELEASED:
        return warning(
            CLOCK, f"It says {now:%Y-%m-%d}, which is past.", "Set it: certificates and signed addresses depend on it."
        )
    return ok(CLOCK, f"{now:%Y-%m-%d %H:%M:%S} UTC")


def judge_skew(other: str, theirs: float, before: float, after: float) -> Finding:
    """``theirs`` was read between ``before`` and ``after`` of this machine; seconds since 1970."""
    ahead = before - theirs if theirs < before else after - theirs if theirs > after else 0.0
    if abs(ahead) <= MOST_SKEW:
        return ok("Clock skew", f"none against {other}" if abs(ahead) < 1 else f"{abs(ahead):.0f} s against {other}")
    return warning(
        "Clock skew",
        f"This machine is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} {other}: times will look wrong, "
        "and signed addresses may be refused.",
        "Let both follow a time server, for example: sudo timedatectl set-ntp true",
    )
