"""How long a worker trusts its own lease."""

from hypothesis import given
from hypothesis import strategies as st

from oddish.worker.heartbeat import FENCE_MARGIN_SECONDS, Lease

times = st.floats(0, 10_000)


@given(st.floats(15, 100), times, times)
def test_a_worker_stops_before_its_lease_ends(seconds: float, asked_at: float, later: float) -> None:
    lease = Lease(seconds, now=0)
    lease.renewed(asked_at=asked_at)
    now = asked_at + later
    if lease.must_stop(now=now):
        assert lease.remaining(now=now) <= FENCE_MARGIN_SECONDS
    else:
        assert now + FENCE_MARGIN_SECONDS < asked_at + seconds + 1e-6


def test_the_lease_counts_from_the_asking_not_from_the_answer() -> None:
    lease = Lease(30, now=0)
    lease.renewed(asked_at=10)
    assert lease.remaining(now=25) == 15
    assert not lease.must_stop(now=34.9)
    assert lease.must_stop(now=35)
