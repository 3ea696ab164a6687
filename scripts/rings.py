"""Run the rings of tests, which are the directories below tests/, and print one table about them."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
ORDER = ("unit", "integration", "e2e", "docker", "browser", "chaos")
NOT_RINGS = frozenset({"data", "support"})
"""Directories beside the rings; tasks among the data have tests of their own, which are for their verifiers."""
PARALLEL = frozenset({"unit", "integration", "e2e", "chaos"})
"""Rings whose tests share nothing of the machine: they run in as many processes as it has cores."""
WAITING = {"integration": 1, "e2e": 2, "chaos": 1}
"""Of these, those whose tests wait as well as work, and how many processes more they run in.

Where everything is run, those that wait most come first: they leave room for what runs beside them.
"""
BESIDE = ("docker", "browser", "chaos")
"""Rings that mostly wait, or use what the others do not: one after the other beside them, shown when they are over."""
THINKING = ("unit",)
"""Rings that never wait: beside the others as well, after the checks, with what is left of the processors."""
PREPARATION = "ODDISH_TEST_PREPARATION"
NICENESS = 5
"""Of these: they get a third of what the others get where both want it, so that none waits for its turn too long."""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
"""Programs that can be the browser, the best first."""
ONE_PROCESS = ("-s", "--capture", "--pdb", "-n", "--numprocesses", "--durations")
"""Options that are about one process, or say how many there are."""
NOTHING_COLLECTED = 5
MOST_REPEATED = 3
"""Failures that are tried again, alone, where everything is run: more than these are no accident."""


@dataclass
class Ring:
    name: str
    collected: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    unsteady: list[str] = field(default_factory=list)
    """Tests that failed among the others and passed alone; they count as passed, and somebody should look at them."""
    broken: bool = False
    """pytest ended with an error that is not a test's."""
    absent: str | None = None
    """Why this machine cannot run it."""
    seconds: float = 0.0
    """That it took."""


def main(arguments: Sequence[str]) -> int:
    required = {name for name in os.environ.get("ODDISH_REQUIRE", "").split(",") if name}
    available = rings()
    if unknown := sorted(required - {*available, *ORDER}):
        print(f"ODDISH_REQUIRE names no ring: {', '.join(unknown)}; there are {', '.join(available)}.")
        return 2
    targets, options = select(arguments, available)
    everything = not targets
    for name in (*available, *sorted(required - {*available})) if everything else ():
        targets.setdefault(name, [f"tests/{name}"])
    # On Linux a thread is nice by itself, and what it starts is as it is.
    thinking = ThreadPoolExecutor(max_workers=1, initializer=os.nice, initargs=(NICENESS,))
    with thinking, ThreadPoolExecutor(max_workers=1) as aside:
        linting = thinking.submit(lint) if everything else None
        preparing = aside.submit(prepare) if everything and PREPARATION in os.environ else None
        beside = {
            name: lane.submit(run_unseen, name, targets[name], options)
            for lane, names in ((thinking, THINKING), (aside, BESIDE))
            for name in names
            if everything and name in targets
        }
        turns = [name for name in targets if name not in beside]
        if everything:
            turns.sort(key=lambda name: WAITING.get(name, 0), reverse=True)
        before = [run(name, targets[name], options, again=everything) for name in turns]
        linted = linting is None or shown(linting)
        if preparing is not None:
            shown(preparing)
        results = before + [shown(ring) for ring in beside.values()]
    results.sort(key=lambda ring: [*targets].index(ring.name))
    report(results, linted)
    missing = [ring for ring in results if ring.absent and ring.name in required]
    for ring in missing:
        print(f"{ring.name} is required by ODDISH_REQUIRE and cannot run: {ring.absent}")
    total(results)
    failed = any(ring.failed or ring.broken for ring in results)
    return 1 if failed or missing or not linted else 0


def rings() -> list[str]:
    """Directories with tests, in the order of cost."""
    found = {path.relative_to(TESTS).parts[0] for path in TESTS.glob("*/**/test_*.py")} - NOT_RINGS
    return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def select(arguments: Sequence[str], available: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Rings with the paths to run in each, from names and paths; everything else is for pytest."""
    targets: dict[str, list[str]] = {}
    options = []
    for argument in arguments:
        if argument in available:
            targets[argument] = [f"tests/{argument}"]
        elif argument.startswith("tests/") and (name := argument.split("/")[1].split("::")[0]) in available:
            targets.setdefault(name, []).append(argument)
        else:
            options.append(argument)
    return targets, options


def run_unseen(name: str, paths: Sequence[str], options: Sequence[str]) -> tuple[Ring, str]:
    """What it printed as well."""
    with tempfile.TemporaryFile("w+") as out:
        ring = run(name, paths, options, again=True, out=out)
        out.seek(0)
        return ring, out.read()


def lint() -> tuple[bool, str]:
    return checked("lint", ROOT / "scripts" / "lint")


def prepare() -> tuple[bool, str]:
    """Whatever it could not provide, the ring that needs it says so."""
    return checked("preparation", Path(os.environ[PREPARATION]))


def checked(title: str, program: Path) -> tuple[bool, str]:
    """Whether all is well, and what was printed."""
    ended = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return ended.returncode == 0, f"\n=== {title} ===\n{ended.stdout}"


def shown[Result](ended: Future[tuple[Result, str]]) -> Result:
    result, printed = ended.result()
    print(printed, end="", flush=True)
    return result


def run(name: str, paths: Sequence[str], options: Sequence[str], *, again: bool, out: TextIO = sys.stdout) -> Ring:
    ring = Ring(name, absent="there are no tests" if name not in rings() else CHECKS.get(name, lambda: None)())
    print(f"\n=== {name} ===", file=out, flush=True)
    if ring.absent:
        print(f"NOT RUN: {ring.absent}", file=out, flush=True)
        return ring
    began = time.monotonic()
    everything = ["-o", f"cache_dir=.pytest_cache/{name}", *paths, *options]
    status, results = pytest([*processes(name, options), *everything], out)
    failures = [test for test, result in results.items() if result == "failed"]
    if again and status == 1 and 0 < len(failures) <= MOST_REPEATED:
        print("\nonce more, alone:", *failures, file=out, flush=True)
        status, repeated = pytest(["--last-failed", "--last-failed-no-failures=none", *everything], out)
        ring.unsteady = [test for test in failures if repeated.get(test) == "passed"]
        results |= repeated
    ring.seconds = time.monotonic() - began
    ring.collected = len(results)
    ring.passed, ring.failed, ring.skipped = map([*results.values()].count, ("passed", "failed", "skipped"))
    ring.broken = status not in (0, 1, NOTHING_COLLECTED) or (status == 1 and ring.failed == 0)
    return ring


def pytest(arguments: Sequence[str], out: TextIO) -> tuple[int, dict[str, str]]:
    """Its exit status, and for each test by name whether it passed, failed or was skipped."""
    with tempfile.TemporaryDirectory() as directory:
        record = Path(directory) / "record.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={record}", "-o", "junit_family=xunit1"]
        status = subprocess.run([*command, *arguments], cwd=ROOT, stdout=out, stderr=out, check=False).returncode
        return status, read(record) if record.exists() else {}


def processes(name: str, options: Sequence[str]) -> list[str]:
    """Options of pytest that run the files of a ring side by side, in the order in which they are collected."""
    cores = os.cpu_count() or 1
    if name not in PARALLEL or cores == 1 or any(option.startswith(ONE_PROCESS) for option in options):
        return []
    return ["-n", str(min(cores + WAITING.get(name, 0), 8)), "--dist", "loadfile", "--no-loadscope-reorder"]


def read(record: Path) -> dict[str, str]:
    results: dict[str, str] = {}
    for case in ET.parse(record).getroot().iter("testcase"):
        kinds = {child.tag for child in case}
        result = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        name = f"{case.get('file')}::{case.get('name')}"
        results[name] = "failed" if results.get(name) == "failed" else result
    return results


def report(results: Sequence[Ring], linted: bool) -> None:
    print(f"\n{'ring':<12} {'collected':>9} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8}")
    for ring in results:
        numbers = f"{ring.collected:>9} {ring.passed:>7} {ring.failed:>7} {ring.skipped:>8} {ring.seconds:>8.0f}"
        print(f"{ring.name:<12} {f'NOT RUN: {ring.absent}' if ring.absent else numbers}")
        if ring.unsteady:
            print(f"{ring.name}: UNSTEADY, failed among the others and passed alone: {', '.join(ring.unsteady)}")
        if ring.broken:
            print(f"{ring.name}: pytest itself failed; see above")
    if not linted:
        print("lint failed; see above")


def total(results: Sequence[Ring]) -> None:
    passed, failed, skipped = (sum(getattr(ring, kind) for ring in results) for kind in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)


def sandbox() -> str | None:
    from oddish.sandbox.support import support

    return support().reason


def docker() -> str | None:
    program = shutil.which("docker")
    if program is None:
        return "there is no docker program"
    try:
        answer = subprocess.run([program, "version"], capture_output=True, text=True, check=False, timeout=20)
    except subprocess.TimeoutExpired:
        return "the docker engine does not answer within 20 s"
    return None if answer.returncode == 0 else f"no docker engine answers: {answer.stderr.strip()}"


def browser() -> str | None:
    if find_spec("playwright") is None:
        return "the Python package playwright is not installed"
    return None if chromium_program() else f"none of {', '.join(CHROMIUM)} is on PATH"


def chromium_program() -> str | None:
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


CHECKS: dict[str, Callable[[], str | None]] = {
    "e2e": sandbox,
    "docker": docker,
    "browser": browser,
    "chaos": sandbox,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
