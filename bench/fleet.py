"""Servers and workers on one external PostgreSQL and one S3 store, disturbed while they work: ``scripts/bench fleet``.

Trials of the oracle sleep a few seconds in the local sandbox. First their throughput with one worker and with all of
them, undisturbed. Then many, while workers are killed (-9) and once everything is migrated and restarted in turn: each
has to have one recorded outcome, all of its files, and be charged for one attempt. Exits 1 when that does not hold.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil

from bench.disturbances import Disturbance, Disturber
from bench.machine import load, machine
from bench.progress import say
from bench.recorded import Attempt, attempts, finished, problems, seconds
from bench.stacks import submit
from bench.table import markdown
from support.fleet import DATABASE, STORAGE, Fleet
from support.numbers import above_zero, at_least_one, from_zero

LEAST_RATIO = 2.5
MOST_WAIT = 3600.0
BATCH = 100
FILES = {
    "task.toml": 'schema_version = "1.4"\n[agent]\ntimeout_sec = 300\n[verifier]\ntimeout_sec = 60\n',
    "instruction.md": "Wait.\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
    "tests/test.sh": "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n",
}


@dataclass(frozen=True)
class Undisturbed:
    """``cpu_seconds`` of all processes of the fleet."""

    workers: int
    trials: int
    seconds: float
    cpu_seconds: float

    @property
    def throughput(self) -> float:
        """Trials a second."""
        return self.trials / self.seconds

    def cells(self, first: "Undisturbed") -> tuple[str, ...]:
        return (
            str(self.workers),
            str(self.trials),
            f"{self.seconds:.1f} s",
            f"{self.throughput:.2f}",
            f"{self.throughput / first.throughput:.2f}x",
            f"{self.cpu_seconds / self.trials:.2f} s",
            f"{self.cpu_seconds / self.seconds:.2f}",
        )


def main(given: Sequence[str] | None = None) -> int:
    options = arguments(given)
    print("\n".join(f"{name}: {value}" for name, value in machine().items()))
    with tempfile.TemporaryDirectory(prefix="oddish-fleet-") as name:
        directory = Path(name)
        with Fleet(directory, durable=True) as fleet:
            say(f"starting {options.servers} servers and {options.workers} workers")
            fleet.add_servers(options.servers)
            fleet.add_workers(options.workers, concurrency=options.slots)
            lines, ratio = scaling(fleet, directory, options)
            print(f"\n{lines}", flush=True)
            wrong = disturbed(fleet, directory, options)
        mounts = Path("/proc/mounts").read_text()
        wrong += ["something is still mounted below the directory of the fleet"] if name in mounts else []
    if ratio < LEAST_RATIO and options.workers == 3:
        wrong.append(f"3 workers have {ratio:.2f} times the throughput of one, less than {LEAST_RATIO}")
    print(f"load at the end: {load()}")
    print("\n".join(f"WRONG: {problem}" for problem in wrong) or "nothing is wrong")
    return int(bool(wrong))


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench fleet", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=at_least_one, default=1000, help="of the disturbed run (%(default)s)")
    parser.add_argument("--servers", type=at_least_one, default=2, help="(%(default)s)")
    parser.add_argument("--workers", type=at_least_one, default=3, help="(%(default)s)")
    parser.add_argument("--slots", type=at_least_one, default=4, help="trials at a time on each worker (%(default)s)")
    parser.add_argument("--sleep", type=from_zero, default=5, help="seconds that a trial sleeps (%(default)s)")
    parser.add_argument("--kill-every", type=above_zero, default=20, help="seconds between two kills (%(default)s)")
    parser.add_argument(
        "--undisturbed", type=at_least_one, default=40, help="trials for each worker before (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of who is killed and how long it is away (%(default)s)")
    return parser.parse_args(given)


def scaling(fleet: Fleet, directory: Path, options: argparse.Namespace) -> tuple[str, float]:
    """The table of the undisturbed runs, and how many times one worker's throughput all of them have."""
    task_id = upload(fleet, directory, "steady", options.sleep)
    warm_up = upload(fleet, directory, "warm-up", 0)
    add(fleet, warm_up, "warm-up", options.workers * options.slots)
    fleet.wait_until_quiet(MOST_WAIT)
    runs = [undisturbed(fleet, task_id, 1, options), undisturbed(fleet, task_id, options.workers, options)]
    headings = ("workers", "trials", "time", "trials/s", "throughput", "CPU of a trial", "cores busy")
    return markdown(headings, [run.cells(runs[0]) for run in runs]), runs[1].throughput / runs[0].throughput


def undisturbed(fleet: Fleet, task_id: str, count: int, options: argparse.Namespace) -> Undisturbed:
    for name in fleet.workers[count:]:
        fleet.stop(name)
    fleet.start_all(fleet.workers[:count])
    trials, before = options.undisturbed * count, cpu_seconds(fleet)
    say(f"{trials} trials, {count} of the workers")
    ids = spread(fleet, task_id, f"undisturbed-{count}", trials, min(count * options.slots, trials), options.sleep)
    fleet.wait_until_quiet(MOST_WAIT)
    return Undisturbed(count, trials, seconds(fleet, ids), cpu_seconds(fleet) - before)


def disturbed(fleet: Fleet, directory: Path, options: argparse.Namespace) -> list[str]:
    """Prints what happened; what is wrong."""
    task_id = upload(fleet, directory, "disturbed", options.sleep)
    ids: list[str] = []
    for first in range(0, options.trials, BATCH):
        size = min(BATCH, options.trials - first)
        ids += add(fleet, task_id, f"disturbed-{first}", size, server=fleet.servers[first // BATCH % options.servers])
    say(f"{len(ids)} trials, disturbed")
    disturber = Disturber(fleet, directory, options.kill_every, random.Random(options.seed))
    unanswered = looks = 0
    while (done := finished(fleet, ids)) < len(ids) or not disturber.finished:
        disturber.turn(restart=done >= len(ids) // 3)
        looks, unanswered = looks + 1, unanswered + (not answered(fleet))
        if disturber.now > MOST_WAIT:
            break
        time.sleep(0.5)
    disturber.settle()
    ended = [disturbance.worker_id for disturbance in disturber.done if disturbance.worker_id is not None]
    every = attempts(fleet, ids)
    spent = seconds(fleet, ids)
    count = Counter(attempt.state for attempt in every)
    fleet_of = f"{options.servers} servers, {options.workers} workers of {options.slots} slots"
    kills = f"a worker killed every {options.kill_every:g} s, everything restarted once"
    print(f"\n{len(ids)} trials of {options.sleep:g} s, {fleet_of}, {kills}, seed {options.seed}")
    print(f"{spent:.0f} s, {len(ids) / spent:.2f} trials/s")
    print(f"{len(every)} attempts: {count['finished']} recorded as outcomes, {count['lost']} lost or given back")
    print(f"{looks} looks at the servers' health, {unanswered} that none of them answered\n")
    print(markdown(("at", "what", "attempts that were run again (trial#attempt)"), happened(disturber.done, every)))
    wrong = [*disturber.problems, *problems(fleet, ids, ended)]
    return wrong + ([f"{unanswered} looks at the servers' health were answered by none"] if unanswered else [])


def happened(done: Sequence[Disturbance], every: Sequence[Attempt]) -> list[tuple[str, str, str]]:
    return [
        (
            f"{disturbance.at:.0f} s",
            disturbance.what,
            " ".join(
                f"{attempt.label} ({attempt.reason})"
                for attempt in every
                if attempt.state == "lost" and attempt.worker_id == disturbance.worker_id
            )
            or "-",
        )
        for disturbance in done
    ]


def answered(fleet: Fleet) -> bool:
    """Whether some server is ready, as a load balancer in front of them would find."""
    for name in fleet.servers:
        try:
            if httpx2.get(f"{fleet.url(name)}/health", timeout=5, trust_env=False).json()["status"] == "healthy":
                return True
        except httpx2.TransportError:
            continue
    return False


def add(fleet: Fleet, task_id: str, experiment: str, trials: int, *, server: str = "server-1") -> list[str]:
    return submit(fleet.client(server), task_id, experiment, trials=trials)


def spread(fleet: Fleet, task_id: str, experiment: str, trials: int, first: int, seconds: float) -> list[str]:
    """The ``first`` so many evenly over the seconds that a trial takes, the rest then.

    Trials that begin together would go on to do so, and wait for the processors together: the figure would be about
    these. Trials of agents do not.
    """
    ids: list[str] = []
    begun = time.monotonic()
    for number in range(first):
        time.sleep(max(0.0, begun + number * seconds / first - time.monotonic()))
        ids += add(fleet, task_id, f"{experiment}-{number}", 1)
    return ids + (add(fleet, task_id, experiment, trials - first) if trials > first else [])


def upload(fleet: Fleet, directory: Path, name: str, sleep: float) -> str:
    """A task whose oracle sleeps; its id."""
    task = directory / "tasks" / name
    for path, content in (FILES | {"solution/solve.sh": f"#!/bin/sh\nsleep {sleep}\n"}).items():
        (task / path).parent.mkdir(parents=True, exist_ok=True)
        (task / path).write_text(content)
    return fleet.client("server-1").upload(task)["task_id"]


def cpu_seconds(fleet: Fleet) -> float:
    """Of all that the fleet has run so far and has been waited for by its parent, or still runs."""
    spent = 0.0
    for name in (DATABASE, STORAGE, *fleet.servers, *fleet.workers):
        pid = fleet.pid(name)
        for process in [] if pid is None else [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue
            spent += times.user + times.system + times.children_user + times.children_system
    return spent


if __name__ == "__main__":
    sys.exit(main())
