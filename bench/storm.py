"""Many trials on a Docker engine, some cancelled at random: what is on it and which programs run, before and after."""

import random
import re
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Set
from pathlib import Path

from bench.options import Options
from bench.stacks import ended, stack, submit
from bench.table import markdown
from bench.trials import no_engine

TASKS = Path(__file__).parents[1] / "tests" / "data" / "tasks"
PROGRAMS = frozenset({"docker", "docker-compose", "docker-buildx", "containerd-shim"})
LISTINGS = {
    "containers": ("ps", "--all", "--quiet", "--no-trunc"),
    "networks": ("network", "ls", "--quiet", "--no-trunc"),
    "volumes": ("volume", "ls", "--quiet"),
    "images": ("images", "--format", "{{.Repository}}:{{.Tag}}"),
}


def storm(options: Options) -> str:
    """Half of the trials are over quickly, half count slowly; some are cancelled in whatever phase they are."""
    if reason := no_engine():
        return reason
    trials, cancelled = (10, 2) if options.quick else (50, 10)
    before = state()
    began = time.monotonic()
    with stack() as client:
        ids: list[str] = []
        for name, task in (("quick", "hello-world"), ("slow", "slow-count")):
            task_id = client.upload(TASKS / task)["task_id"]
            ids += submit(client, task_id, name, environment="docker", trials=trials // 2)
        for trial_id in random.sample(ids, cancelled):
            time.sleep(random.uniform(0, 3))
            client.cancel(trial_ids=[trial_id])
        statuses = Counter(ended(client, trial_id)["status"] for trial_id in ids)
        seconds = time.monotonic() - began
        during = state()
    after = state()
    counts = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    lines = [
        (kind, *(str(len(there[kind])) for there in (before, during, after)), str(len(after[kind] - before[kind])))
        for kind in before
    ]
    heading = ("on the machine", "before", "all trials ended", "stack stopped", "of which new")
    return f"{trials} trials in {seconds:.0f} s: {counts}\n\n{markdown(heading, lines)}"


def state() -> Mapping[str, Set[str]]:
    """Names and ids of what is on the engine, and the ids of its programs on this machine."""
    found = {
        kind: set(subprocess.run(["docker", *listing], capture_output=True, text=True, check=True).stdout.split())
        for kind, listing in LISTINGS.items()
    }
    programs = {path.parent.name: _living_program(path) for path in Path("/proc").glob("[0-9]*/stat")}
    found["processes"] = {pid for pid, program in programs.items() if program in PROGRAMS}
    return found


def _living_program(status: Path) -> str:
    """Its name; empty for one that has ended and waits for the machine's init to notice."""
    try:
        found = re.fullmatch(r"\d+ \((.*)\) (\w) .*", status.read_text(), re.DOTALL)
    except OSError:
        return ""
    return found[1] if found and found[2] != "Z" else ""
