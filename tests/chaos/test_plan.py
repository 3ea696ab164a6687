"""A seed decides every fault."""

import pytest

from chaos.plan import JUMP_SECONDS, KINDS, plan, tally


def test_the_same_seed_gives_the_same_faults() -> None:
    assert plan(7, 600) == plan(7, 600)
    assert plan(7, 600) != plan(8, 600)


@pytest.mark.parametrize("seed", range(20))
def test_ten_minutes_have_a_hundred_faults_and_five_of_each_kind(seed: int) -> None:
    counted = tally(plan(seed, 600))
    assert counted.total() >= 100
    assert counted.keys() == {kind.name for kind in KINDS}
    assert min(counted.values()) >= 5


@pytest.mark.parametrize("seed", range(20))
def test_a_short_run_has_every_kind(seed: int) -> None:
    faults = plan(seed, 20)
    assert {fault.kind for fault in faults} == {kind.name for kind in KINDS}
    assert all(0 <= fault.at <= 20 for fault in faults)
    assert [fault.at for fault in faults] == sorted(fault.at for fault in faults)


def test_without_docker_ten_minutes_still_have_a_hundred_faults() -> None:
    counted = tally(plan(3, 600, [kind for kind in KINDS if kind.needs is None]))
    assert counted.total() >= 100
    assert min(counted.values()) >= 5


@pytest.mark.parametrize("seed", range(5))
def test_durations_jumps_and_aims_stay_in_their_bounds(seed: int) -> None:
    bounds = {kind.name: kind for kind in KINDS}
    for fault in plan(seed, 600):
        assert bounds[fault.kind].least <= fault.lasts <= bounds[fault.kind].most
        assert abs(fault.jump) <= JUMP_SECONDS
        assert fault.chosen(["a", "b", "c"]) in ("a", "b", "c")
        assert fault.chosen([]) is None
