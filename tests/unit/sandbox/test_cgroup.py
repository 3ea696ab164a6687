"""Control groups: where this process is, and what limits are written as."""

import pytest

from oddish.sandbox.cgroup import parse_membership, settings
from oddish.sandbox.spec import Limits


def test_membership_of_both_versions() -> None:
    text = "9:name=systemd:/\n4:memory:/a/b\n1:cpu,cpuacct:/c\n0::/user.slice/x:y\n"
    membership = parse_membership(text)
    assert membership["memory"] == "/a/b"
    assert membership["cpu"] == membership["cpuacct"] == "/c"
    assert membership[""] == "/user.slice/x:y"


def test_version_1_sets_memory_before_memory_with_swap() -> None:
    written = settings(1, Limits(memory_bytes=1024, processes=10, cpu_weight=2, cpu_quota=0.5))
    assert list(written.items()) == [
        ("pids.max", "10"),
        ("memory.limit_in_bytes", "1024"),
        ("memory.memsw.limit_in_bytes", "1024"),
        ("cpu.shares", "205"),
        ("cpu.cfs_period_us", "100000"),
        ("cpu.cfs_quota_us", "50000"),
    ]


def test_version_2() -> None:
    assert settings(2, Limits(memory_bytes=1024, processes=10, cpu_weight=2, cpu_quota=0.5)) == {
        "pids.max": "10",
        "memory.max": "1024",
        "memory.swap.max": "0",
        "cpu.weight": "20",
        "cpu.max": "50000 100000",
    }


def test_by_default_processes_are_bounded_and_the_rest_of_the_machine_comes_first() -> None:
    assert settings(1, Limits()) == {"pids.max": "1024", "cpu.shares": "102"}
    assert settings(2, Limits()) == {"pids.max": "1024", "cpu.weight": "10"}


@pytest.mark.parametrize(("cpus", "shares", "weight"), [(0.01, "2", "1"), (4, "410", "40"), (64, "1024", "100")])
def test_no_sandbox_weighs_more_than_an_ordinary_group(cpus: float, shares: str, weight: str) -> None:
    assert settings(1, Limits(cpu_weight=cpus))["cpu.shares"] == shares
    assert settings(2, Limits(cpu_weight=cpus))["cpu.weight"] == weight
