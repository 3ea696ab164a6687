"""Nothing gets out of a sandbox, whoever started it. Each attempt that could succeed is shown to succeed beside it."""

import os
import sys
from typing import Any

import pytest

from support import ordinary_user
from support.escape_probes import PROBES
from support.reporting import report_of

MODES = ("root", "user")


@pytest.fixture(scope="session")
def by_root() -> dict[str, Any]:
    if os.geteuid() != 0:
        pytest.skip("only root can show what root's sandboxes hold")
    return report_of([sys.executable, "-m", "support.escape_probes"], seconds=120)


@pytest.fixture(scope="session")
def by_user() -> dict[str, Any]:
    return report_of(ordinary_user.command("escape_probes"), seconds=120)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def outcome(mode: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    result: dict[str, Any] = request.getfixturevalue(f"by_{mode}")
    assert result["privileged"] is (mode == "root")
    return result


@pytest.mark.parametrize("probe", PROBES)
def test_is_refused(outcome: dict[str, Any], probe: str) -> None:
    code, output = outcome["inside"][probe]
    if probe == "abstract socket of the host" and not outcome["scoped"]:
        pytest.skip("kernels before 6.12 cannot keep abstract sockets of a shared network away")
    assert code == 1, output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("mode", "probe"),
    [(mode, name) for mode in MODES for name, probe in PROBES.items() if mode in probe.works_outside],
    indirect=["mode"],
)
def test_could_have_worked(outcome: dict[str, Any], probe: str) -> None:
    code, output = outcome["outside"][probe]
    if "No such file" in output:
        pytest.skip(f"this machine has none: {output}")
    assert code == 0, output


def test_a_daemon_does_not_survive(outcome: dict[str, Any]) -> None:
    assert outcome["after"]["daemons_before_stop"] > 0
    assert outcome["after"]["daemons_after_stop"] == 0


def test_processes_of_the_host_are_unharmed(outcome: dict[str, Any]) -> None:
    assert outcome["after"]["victim_alive"]


def test_the_sandbox_survives_signals_to_everything_in_it(outcome: dict[str, Any]) -> None:
    assert outcome["after"]["usable"] == "usable"


def test_nothing_is_left_on_disk(outcome: dict[str, Any]) -> None:
    assert outcome["after"]["scratch_left"] == []
