"""Control groups: where this process is, and what limits are written as."""

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
        ("cpu.shares", "2048"),
        ("cpu.cfs_period_us", "100000"),
        ("cpu.cfs_quota_us", "50000"),
    ]


def test_version_2() -> None:
    assert settings(2, Limits(memory_bytes=1024, processes=10, cpu_weight=2, cpu_quota=0.5)) == {
        "pids.max": "10",
        "memory.max": "1024",
        "memory.swap.max": "0",
        "cpu.weight": "200",
        "cpu.max": "50000 100000",
    }


def test_what_is_not_asked_for_is_not_bounded() -> None:
    assert settings(1, Limits()) == settings(2, Limits()) == {"pids.max": "4096"}
