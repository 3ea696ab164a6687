"""The report as a whole: bounded in time, never ended by a look, with a verdict."""

import subprocess
import threading
from collections.abc import Iterator

import pytest

from oddish.doctor import report
from oddish.doctor.examination import Look, examine
from oddish.doctor.finding import Finding, ok, problem, warning
from oddish.errors import Unavailable

OFFERED = ["local", "docker"]
WORKING = [ok("Local sandbox", "starts"), ok("Docker engine", "28"), ok("Docker Compose", "2.30")]


def broken() -> Iterator[Finding]:
    yield ok("Broken", "the first half")
    raise ZeroDivisionError("division\nby zero")


def refused() -> Iterator[Finding]:
    raise Unavailable("It is away.", fix="Bring it back.")
    yield


def test_a_look_that_fails_is_a_finding_and_keeps_what_it_had_found() -> None:
    found = examine([Look("Broken", broken), Look("Refused", refused), Look("Fine", lambda: [ok("Fine", "yes")])], 30)
    assert found == [
        [
            ok("Broken", "the first half"),
            warning("Broken", "It cannot be looked at: ZeroDivisionError: division by zero"),
        ],
        [warning("Refused", "It is away.", "Bring it back.")],
        [ok("Fine", "yes")],
    ]


def test_a_program_that_is_slow_is_not_called_missing() -> None:
    def slow() -> Iterator[Finding]:
        subprocess.run(["/usr/bin/env", "sleep", "60"], check=True, timeout=0.05)
        yield ok("Slow", "ended")

    assert examine([Look("Slow", slow)], 30) == [
        [warning("Slow", "env did not answer in time.", "Try again when the machine is less busy.")]
    ]


def test_a_look_without_an_answer_does_not_hold_up_the_others() -> None:
    never = threading.Event()

    def stuck() -> Iterator[Finding]:
        yield ok("Stuck", "so far")
        never.wait()

    found = examine([Look("Stuck", stuck, advice="Pull."), Look("Fine", lambda: [ok("Fine", "yes")])], 0.2)
    never.set()
    assert found == [[ok("Stuck", "so far"), warning("Stuck", "No answer within 0.2 s.", "Pull.")], [ok("Fine", "yes")]]


def test_docker_is_the_default_where_both_work() -> None:
    found = report.verdict(WORKING, remote=False, offered=OFFERED)
    assert (found.level, found.found) == ("ok", "can run here, in docker or in local (default: docker)")


@pytest.mark.parametrize(
    ("findings", "environments"),
    [
        ([*WORKING[:2], warning("Docker Compose", "old")], ["local"]),
        ([WORKING[0], warning("Docker engine", "no program")], ["local"]),
        ([warning("Local sandbox", "no"), *WORKING[1:]], ["docker"]),
        ([*WORKING, warning("Local sandbox", "no overlays")], ["docker"]),
        ([warning("Local sandbox", "no")], []),
        ([], []),
    ],
)
def test_an_environment_needs_all_of_its_parts(findings: list[Finding], environments: list[str]) -> None:
    assert report.environments(findings) == environments


def test_no_place_for_trials_is_a_problem() -> None:
    found = report.verdict(WORKING[1:], remote=False, offered=["local"])
    assert found.level == "problem"
    assert "local" in found.found


def test_problems_are_named_once() -> None:
    found = report.verdict(
        [*WORKING, problem("Disk", "a"), problem("Disk", "b"), problem("Key", "c")], remote=False, offered=OFFERED
    )
    assert (found.level, found.found) == ("problem", "None can run until this is solved: Disk and Key.")


def test_who_uses_a_server_elsewhere_needs_no_sandbox_here() -> None:
    assert report.verdict([warning("Local sandbox", "no")], remote=True, offered=OFFERED).level == "ok"
    assert report.weakened(problem("Harbor", "missing")).level == "warning"


def test_a_report_is_usable_unless_something_is_a_problem() -> None:
    assert report.Report((ok("A", "a"), warning("B", "b"))).usable
    failed = report.Report((ok("A", "a"), problem("B", "b", "c")))
    assert failed.document() == {
        "ok": False,
        "findings": [
            {"subject": "A", "level": "ok", "found": "a", "fix": None},
            {"subject": "B", "level": "problem", "found": "b", "fix": "c"},
        ],
    }
