"""Programs in a sandbox that take all processes, memory or disk, or mean to outlive it, whoever started it."""

import os
import sys
from typing import Any

import pytest

from support import ordinary_user
from support.hogs import LIMITS, MEBIBYTE
from support.reporting import report_of


@pytest.fixture(scope="module")
def by_root() -> dict[str, Any]:
    if os.geteuid() != 0:
        pytest.skip("only root can show what root's sandboxes are bounded by")
    return report_of([sys.executable, "-m", "support.hogs"], seconds=240)


@pytest.fixture(scope="module")
def by_user() -> dict[str, Any]:
    return report_of(ordinary_user.command("hogs"), seconds=240)


@pytest.fixture(params=["root", "user"])
def outcome(request: pytest.FixtureRequest) -> dict[str, Any]:
    result: dict[str, Any] = request.getfixturevalue(f"by_{request.param}")
    assert result["privileged"] is (request.param == "root")
    return result


def test_a_fork_bomb_ends_at_the_limit_and_with_its_command(outcome: dict[str, Any]) -> None:
    forks = outcome["forks"]
    assert LIMITS.processes // 2 < forks["most"] <= LIMITS.processes
    assert forks["left"] <= 1
    assert forks["after"] == "usable"


def test_others_start_processes_beside_a_fork_bomb(outcome: dict[str, Any]) -> None:
    assert outcome["forks"]["slowest_start"] < 5


def test_a_memory_hog_ends_and_its_sandbox_lives_on(outcome: dict[str, Any]) -> None:
    memory = outcome["memory"]
    if not memory["bounded"]:
        pytest.skip("control groups are not writable here")
    assert memory["counted"] != "300000000"
    assert memory["after"] == "usable"


def test_a_full_disk_ends_the_sandbox_by_name_and_is_given_back(outcome: dict[str, Any]) -> None:
    disk = outcome["disk"]
    assert disk["one_file"] == str(LIMITS.disk_bytes)
    assert disk["ended"].startswith("DiskLimitExceeded: The sandbox was ended: the sandbox holds ")
    assert disk["still_taken"] < 200 * MEBIBYTE


def test_nothing_outlives_its_sandbox(outcome: dict[str, Any]) -> None:
    assert outcome["survivor"]["left"] == 0
    assert outcome["left"] == []
