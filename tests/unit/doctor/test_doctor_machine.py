"""What the doctor says of a machine: words and fixes, from made-up facts."""

import resource
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oddish.doctor import clock, disk, isolation, program, resources
from oddish.doctor.finding import Finding
from oddish.doctor.isolation import NamespaceSettings
from oddish.doctor.words import listed, plural, size

GIB = 1024**3
MEMINFO = "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n"


def namespaces(**settings: str | None) -> Finding:
    facts = NamespaceSettings(**{"apparmor_restricts": None, "allowed": None, "most": "63000"} | settings)
    return isolation.judge_namespaces(facts, privileged=False)


def space(
    free: float = 50 * GIB, kind: str = "ext4", inodes: int | None = 1_000_000, *, writable: bool = True
) -> disk.Space:
    return disk.Space(Path("/data"), kind, int(free), inodes, writable)


def state_disk(found: disk.Space) -> list[Finding]:
    return list(disk.judge("Disk", found, holds_state=True))


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (300 * 1024**2, "300 MiB"), (9e15, "8185 TiB")],
)
def test_sizes_have_three_digits(count: float, shown: str) -> None:
    assert size(count) == shown


def test_lists_and_counts_read_like_sentences() -> None:
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
    assert (plural(1, "trial"), plural(2, "trial")) == ("1 trial", "2 trials")


def test_an_old_python_is_a_problem() -> None:
    found = program.judge_python((3, 11, 9), "/usr/bin/python3")
    assert found.level == "problem"
    assert found.found == "3.11.9 is too old: /usr/bin/python3"
    assert "3.12" in str(found.fix)
    assert program.judge_python((3, 13, 0), "/usr/bin/python3").level == "ok"


def test_another_system_than_linux_has_no_local_sandbox() -> None:
    found = program.judge_system("darwin", "24.0", "arm64")
    assert found.level == "warning"
    assert "docker" in str(found.fix)


REQUIREMENTS = ["click>=8.3", "harbor==0.26.*; extra == 'worker'"]


@pytest.mark.parametrize(
    ("installed", "level", "named"),
    [
        ("0.26.4", "ok", "0.26.4"),
        (None, "problem", "not installed"),
        ("0.2.1", "problem", "0.2.1"),
        ("0.260.1", "problem", "0.26"),
    ],
)
def test_the_engine_has_to_be_the_one_this_release_is_made_for(installed: str | None, level: str, named: str) -> None:
    found = program.judge_engine(installed, REQUIREMENTS)
    assert found.level == level
    assert named in found.found


@pytest.mark.parametrize(
    ("settings", "fix"),
    [
        ({"apparmor_restricts": "1"}, "apparmor_restrict_unprivileged_userns=0"),
        ({"allowed": "0"}, "unprivileged_userns_clone=1"),
        ({"most": "0"}, "max_user_namespaces=15000"),
    ],
)
def test_each_way_to_deny_user_namespaces_has_its_fix(settings: dict[str, str | None], fix: str) -> None:
    found = namespaces(**settings)
    assert found.level == "warning"
    assert fix in str(found.fix)


def test_user_namespaces_are_fine_when_allowed_or_not_needed() -> None:
    assert namespaces().level == namespaces(apparmor_restricts="0", allowed="1").level == "ok"
    denied = NamespaceSettings("1", "0", "0")
    assert isolation.judge_namespaces(denied, privileged=True).level == "ok"


def test_a_kernel_without_seccomp_and_an_unknown_architecture_run_no_sandbox() -> None:
    assert isolation.judge_filter("Name:\tpython\nSeccomp:\t0\n", None).level == "ok"
    assert "CONFIG_SECCOMP_FILTER" in str(isolation.judge_filter("Name:\tpython\n", None).fix)
    assert isolation.judge_filter("Seccomp:\t0\n", "No filter for riscv64.").found == "No filter for riscv64."


def test_limits_that_cannot_be_set_are_named() -> None:
    found = isolation.judge_control_groups(frozenset({"cpu"}), {2})
    assert found.level == "warning"
    assert "memory and pids" in found.found
    assert "Delegate=yes" in str(found.fix)
    assert isolation.judge_control_groups(frozenset({"cpu", "memory", "pids"}), {1}).level == "ok"


@pytest.mark.parametrize(
    ("path", "said", "level"),
    [
        ("/usr/bin/bwrap", "bubblewrap 0.11.0\n", "ok"),
        ("/usr/bin/bwrap", "bubblewrap 0.8.0\n", "warning"),
        ("/usr/bin/bwrap", "", "warning"),
        (None, "", "warning"),
    ],
)
def test_bubblewrap_has_to_be_new_enough(path: str | None, said: str, level: str) -> None:
    assert isolation.judge_bwrap(path, said).level == level


def test_a_sandbox_that_does_not_start_gives_its_reason() -> None:
    found = isolation.judge_sandbox("The local sandbox cannot start here: no. Use docker.", privileged=False)
    assert (found.level, found.found) == ("warning", "The local sandbox cannot start here: no. Use docker.")
    assert isolation.judge_sandbox(None, privileged=True).level == "ok"


def test_without_overlays_root_has_no_sandbox_and_others_no_build_steps() -> None:
    for_root = isolation.judge_overlay("it is on nfs.", Path("/data"), privileged=True)
    assert (for_root.subject, for_root.level) == (isolation.LOCAL, "warning")
    for_others = isolation.judge_overlay("it is on nfs.", Path("/data"), privileged=False)
    assert (for_others.subject, for_others.level) == ("Overlay mounts", "warning")
    assert "RUN" in for_others.found
    assert isolation.judge_overlay(None, Path("/data"), privileged=True).level == "ok"


def test_a_disk_with_room_is_fine() -> None:
    (found,) = state_disk(space())
    assert (found.level, found.found) == ("ok", "50.0 GiB free in /data (ext4)")


@pytest.mark.parametrize(("free", "level"), [(GIB, "warning"), (GIB / 10, "problem")])
def test_a_disk_without_room_is_named_with_what_is_left(free: float, level: str) -> None:
    (found,) = state_disk(space(free))
    assert found.level == level
    assert size(free) in found.found
    assert "ODDISH_HOME" in str(found.fix)


def test_too_few_inodes_are_said_beside_the_room() -> None:
    found = state_disk(space(GIB, inodes=12))
    assert [finding.level for finding in found] == ["warning", "warning"]
    assert "12 more files" in found[1].found
    assert state_disk(space(inodes=None))[0].level == "ok"


@pytest.mark.parametrize(("kind", "word"), [("nfs4", "locks"), ("tmpfs", "restart")])
def test_state_on_a_network_or_memory_disk_is_warned_of(kind: str, word: str) -> None:
    (found,) = state_disk(space(kind=kind))
    assert found.level == "warning"
    assert word in found.found
    (elsewhere,) = disk.judge("Temporary disk", space(kind=kind))
    assert elsewhere.level == "ok"


def test_a_read_only_disk_is_a_problem() -> None:
    (found,) = state_disk(space(writable=False))
    assert found.level == "problem"
    assert "read-only" in found.found


def test_memory_is_that_of_the_machine_or_of_its_container() -> None:
    assert resources.judge_memory(MEMINFO).found == "8.0 GiB of 16.0 GiB available"
    assert resources.judge_memory(MEMINFO, "max\n").found == "8.0 GiB of 16.0 GiB available"
    limited = resources.judge_memory(MEMINFO, f"{GIB // 2}\n")
    assert limited.level == "warning"
    assert "512 MiB of 512 MiB" in limited.found
    assert "container" in limited.found


def test_fewer_usable_processors_than_there_are_ask_for_a_lower_concurrency() -> None:
    assert resources.judge_processors(8, 8).found == "8: a worker runs 16 trials at once unless told otherwise"
    found = resources.judge_processors(8, 2)
    assert found.level == "warning"
    assert found.fix == "Set ODDISH_WORKER_CONCURRENCY=4."


def test_a_low_limit_of_open_files_is_raised_by_the_user_where_that_is_allowed() -> None:
    assert resources.judge_files(1024, 4096).level == "ok"
    assert resources.judge_files(resource.RLIM_INFINITY, resource.RLIM_INFINITY).level == "ok"
    assert "ulimit -n" in str(resources.judge_files(256, 4096).fix)
    assert "As root" in str(resources.judge_files(256, 256).fix)


def test_a_clock_that_stands_still_or_in_the_past_is_a_warning() -> None:
    now = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    assert clock.judge_clock(now, 0.021).found == "2026-05-04 03:02:01 UTC"
    assert "monotonic" in clock.judge_clock(now, 0.0).found
    assert "1970-01-01" in clock.judge_clock(datetime.fromtimestamp(0, UTC), 0.02).found


@pytest.mark.parametrize(
    ("theirs", "level", "said"),
    [(100.5, "ok", "none"), (97.0, "ok", "3 s"), (40.0, "warning", "60 s ahead of"), (161.0, "warning", "60 s behind")],
)
def test_the_skew_of_two_clocks_has_a_direction(theirs: float, level: str, said: str) -> None:
    found = clock.judge_skew("the database", theirs, 100.0, 101.0)
    assert found.level == level
    assert said in found.found
