"""Figures of trials on a Docker engine, beside Harbor alone on the same one: ``scripts/bench docker [ROW]...``.

oracle  wall time of one oracle trial, by turns: ``oddish run`` against a warm stack, and ``harbor run``
storm   many trials, some of them cancelled at random: what is on the engine and which programs run, before and after

The images must be there: ``scripts/docker-engine``.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from stacks import row, stack

TASKS = Path(__file__).parents[1] / "tests" / "data" / "tasks"
VERIFIERS = {"shared verifier": "hello-world", "separate verifier": "separate-verifier"}
HARBOR = [str(Path(sys.executable).with_name("harbor")), "run"]
ODDISH = [sys.executable, "-c", "from oddish.cli import main; main()", "run"]
PROGRAMS = ("docker", "docker-compose", "docker-buildx", "containerd-shim")


def timed(command: list[str]) -> float:
    begun = time.monotonic()
    answer = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"HARBOR_TELEMETRY": "0"}
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return time.monotonic() - begun


def oracle(rounds: int) -> None:
    """The first round of each is not counted: it builds the image."""
    with stack(), tempfile.TemporaryDirectory() as jobs:
        for name, task in VERIFIERS.items():
            path = str(TASKS / task)
            ours, alone = [], []
            for number in range(rounds + 1):
                experiment = f"{task}-{number}"
                ours.append(timed([*ODDISH, path, "-a", "oracle", "-e", "docker", "-E", experiment, "--quiet"]))
                alone.append(timed([*HARBOR, "-p", path, "-a", "oracle", "-o", jobs, "-q"]))
            mine, theirs = statistics.median(ours[1:]), statistics.median(alone[1:])
            row(name, oddish_s=mine, harbor_s=theirs, ratio=mine / theirs)


def state() -> dict[str, set[str]]:
    """Names and ids of what is on the engine, and the ids of its programs on this machine."""
    listings = {
        "containers": ("ps", "--all", "--quiet", "--no-trunc"),
        "networks": ("network", "ls", "--quiet", "--no-trunc"),
        "volumes": ("volume", "ls", "--quiet"),
        "images": ("images", "--format", "{{.Repository}}:{{.Tag}}"),
    }
    found = {
        kind: set(subprocess.run(["docker", *listing], capture_output=True, text=True, check=True).stdout.split())
        for kind, listing in listings.items()
    }
    comms = {path.parent.name: _read(path) for path in Path("/proc").glob("[0-9]*/comm")}
    found["processes"] = {pid for pid, comm in comms.items() if comm.startswith(PROGRAMS)}
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def storm(trials: int, cancelled: int) -> None:
    """Half of them are over quickly, half count slowly; a trial is cancelled in whatever phase it is."""
    before = state()
    begun = time.monotonic()
    with stack() as client:
        ids: list[str] = []
        for name, task in (("quick", "hello-world"), ("slow", "slow-count")):
            task_id = client.upload(TASKS / task)["task_id"]
            submitted = client.sweep(
                {
                    "task_id": task_id,
                    "configs": [{"agent": "oracle", "model": None, "n_trials": trials // 2, "environment": "docker"}],
                    "experiment_id": name,
                }
            )
            ids += submitted["new_trial_ids"]
        chosen = random.sample(ids, cancelled)
        for trial_id in chosen:
            time.sleep(random.uniform(0, 3))
            client.cancel(trial_ids=[trial_id])
        while any(client.trial(trial_id)["finished_at"] is None for trial_id in ids):
            time.sleep(0.5)
        stages = [client.trial(trial_id)["status"] for trial_id in ids]
        seconds = time.monotonic() - begun
        during = state()
    after = state()
    row("storm", trials=len(ids), seconds=seconds, **{status: stages.count(status) for status in sorted(set(stages))})
    for kind in before:
        left = {"added": len(after[kind] - before[kind]), "gone": len(before[kind] - after[kind])}
        row(kind, before=len(before[kind]), all_ended=len(during[kind]), stopped=len(after[kind]), **left)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", choices=["oracle", "storm", []])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--cancelled", type=int, default=10)
    options = parser.parse_args()
    rows: dict[str, Callable[[], None]] = {
        "oracle": lambda: oracle(options.rounds),
        "storm": lambda: storm(options.trials, options.cancelled),
    }
    for name in options.rows or rows:
        rows[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
