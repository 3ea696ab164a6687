"""What is read of this machine."""

from pathlib import Path

from oddish.sandbox.host import Mount, parse_mounts
from oddish.sandbox.support import explain


def test_mounts_with_blanks_and_optional_fields() -> None:
    text = (
        "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
        "40 24 0:35 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    )
    assert parse_mounts(text) == (
        Mount(Path("/mnt 2"), "/mnt1", "ext3", frozenset({"rw", "errors=continue"})),
        Mount(Path("/sys/fs/cgroup/cpu"), "/", "cgroup", frozenset({"rw", "cpu", "cpuacct"})),
    )


def test_a_refusal_says_what_bwrap_said_and_what_to_do() -> None:
    assert "No permissions" in explain("bwrap: No permissions", privileged=False)
    assert "docker environment" in explain("bwrap: mount", privileged=True)
