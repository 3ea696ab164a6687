"""Rows about trials: ours, and ``harbor run`` of the same task in the same place, by turns."""

import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bench.figures import Figures
from bench.options import Options
from bench.programs import harbor_run, oddish_run, run
from bench.stacks import TASK, ended, stack, submit
from oddish import Client

ROOT = Path(__file__).parents[1]
DOCKER_TASK = ROOT / "tests" / "data" / "tasks" / "hello-world"
SEPARATE_TASK = ROOT / "tests" / "data" / "tasks" / "separate-verifier"


def docker(options: Options) -> Figures:
    if reason := no_engine():
        return Figures(missing=reason)
    with stack(), tempfile.TemporaryDirectory() as jobs:
        ours, peer = by_turns(DOCKER_TASK, Path(jobs), options.rounds(5))
        apart, apart_peer = by_turns(SEPARATE_TASK, Path(jobs), options.rounds(3))
    separate = "with a verifier of its own"
    return Figures(ours, peer, details={f"{separate}, ours": apart, f"{separate}, peer": apart_peer})


def by_turns(task: Path, jobs: Path, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of our command and the peer's. The first round of each is not counted: it builds the image."""
    ours, peer = [], []
    for number in range(rounds + 1):
        mine = run(oddish_run(task, "docker", f"{task.name}-{number}")).seconds
        theirs = run(harbor_run(task, jobs, local=False)).seconds
        if number:
            ours.append(mine)
            peer.append(theirs)
    return ours, peer


def no_engine() -> str | None:
    try:
        answer = subprocess.run(("docker", "version"), capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"not measured, no Docker engine answers: {error}"
    return None if answer.returncode == 0 else f"not measured, no Docker engine answers: {answer.stderr.strip()}"


def local(options: Options) -> Figures:
    """By the trial's own time of its recorded outcome. The first round of each fills caches and is not counted."""
    ours, peer, commands = [], [], []
    with stack() as client, tempfile.TemporaryDirectory() as jobs:
        task_id = client.upload(TASK)["task_id"]
        for number in range(options.rounds(10, 2) + 1):
            mine = one(client, task_id, f"round-{number}").finished
            command = run(oddish_run(TASK, "local", f"command-{number}")).seconds
            theirs = run(harbor_run(TASK, Path(jobs), local=True)).seconds
            if number:
                ours.append(mine)
                commands.append(command)
                peer.append(theirs)
    return Figures(ours, peer, details={"from the command `oddish run` to its end": commands})


def start(options: Options) -> Figures:
    """By the trial's own time of its start, both of them; ten submissions for one run of the peer."""
    ours, peer = [], []
    with stack() as client, tempfile.TemporaryDirectory() as jobs:
        task_id = client.upload(TASK)["task_id"]
        one(client, task_id, "first")
        for number in range(options.rounds(4)):
            ours += [one(client, task_id, f"{number}-{turn}").started * 1000 for turn in range(options.rounds(10, 3))]
            peer.append(harbor_start(Path(jobs) / str(number)) * 1000)
    return Figures(ours, peer)


def hundred(options: Options) -> Figures:
    """The peer runs as many at a time as the worker does by default."""
    trials, at_once = 10 if options.quick else 100, 2 * (os.cpu_count() or 1)
    ours, peer = [], []
    with stack(), tempfile.TemporaryDirectory() as jobs:
        run(oddish_run(TASK, "local", "first"))
        run(harbor_run(TASK, Path(jobs), local=True))
        for number in range(options.rounds(3)):
            ours.append(run(oddish_run(TASK, "local", f"round-{number}", trials=trials)).seconds)
            peer.append(run(harbor_run(TASK, Path(jobs), local=True, trials=trials, at_once=at_once)).seconds)
    return Figures(ours, peer, notes=[f"{trials} trials, {at_once} at a time"])


@dataclass(frozen=True)
class Timed:
    """Seconds from the moment of the submission."""

    started: float
    finished: float


def one(client: Client, task_id: str, experiment: str) -> Timed:
    """One trial from its submission to its end. Server and bench share a clock."""
    submitted = time.time()
    [trial_id] = submit(client, task_id, experiment)
    trial = ended(client, trial_id)
    return Timed(seconds_since(submitted, trial["started_at"]), seconds_since(submitted, trial["finished_at"]))


def harbor_start(directory: Path) -> float:
    """Seconds from the command to the start that the trial records."""
    began = time.time()
    run(harbor_run(TASK, directory, local=True))
    [result] = (directory / "jobs").glob("*/*/result.json")
    return seconds_since(began, json.loads(result.read_text())["started_at"])


def seconds_since(began: float, written: str | None) -> float:
    if written is None:
        raise RuntimeError("a trial ended without it")
    return datetime.fromisoformat(written).timestamp() - began
