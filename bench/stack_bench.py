"""Figures of a whole local stack with a home of its own: ``scripts/bench stack [ROW]...``.

start   from a submission to the start and to the recorded outcome of one trial on an idle worker
idle    statements a second of a worker that has nothing to do
"""

import argparse
import re
import statistics
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import psycopg
from stacks import row, stack

from oddish.stack.layout import layout
from oddish.stack.state import read_state

EXAMPLE = Path(__file__).parents[1] / "examples" / "hello-world"
STATEMENT = re.compile(r"duration: .*(?:statement|execute [^:]*): (?!BEGIN|COMMIT|ROLLBACK)")


def seconds_between(earlier: str | None, later: str | None) -> float:
    assert earlier is not None
    assert later is not None
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def start(rounds: int) -> None:
    """The trial's own times: created by the server, started by the claim, finished by the commit of the outcome."""
    with stack() as client:
        task_id = client.upload(EXAMPLE)["task_id"]
        starts, outcomes = [], []
        for number in range(rounds + 1):
            submitted = client.sweep(
                {
                    "task_id": task_id,
                    "configs": [{"agent": "oracle", "model": None, "n_trials": 1}],
                    "experiment_id": f"round-{number}",
                }
            )
            [trial_id] = submitted["new_trial_ids"]
            while (trial := client.trial(trial_id))["finished_at"] is None:
                time.sleep(0.05)
            if number:
                starts.append(seconds_between(trial["created_at"], trial["started_at"]) * 1000)
                outcomes.append(seconds_between(trial["created_at"], trial["finished_at"]))
    starts.sort()
    row("submit to start", p50_ms=statistics.median(starts), p95_ms=starts[int(len(starts) * 0.95)])
    row("submit to recorded outcome", p50_s=statistics.median(outcomes), max_s=max(outcomes))


def idle(seconds: float) -> None:
    """Counted in the server's own log, for the connections of the worker only."""
    with stack() as client:
        client.upload(EXAMPLE)
        worker = Path(f"/proc/{_service('worker')}/environ").read_bytes().split(b"\0")
        [url] = [entry.split(b"=", 1)[1].decode() for entry in worker if entry.startswith(b"ODDISH_DATABASE_URL=")]
        with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET log_min_duration_statement = 0")
            connection.execute("SELECT pg_reload_conf()")
            roles = ["oddish-worker", "oddish-heartbeat", "oddish-listen"]
            statement = "SELECT pid FROM pg_stat_activity WHERE application_name = ANY (%s)"
            pids = [pid for (pid,) in connection.execute(statement, [roles])]
        log = layout().log("postgres")
        time.sleep(2)
        before = _statements(log, pids)
        time.sleep(seconds)
        counted = _statements(log, pids) - before
    row("idle worker", seconds=seconds, statements_per_s=counted / seconds)


def _service(name: str) -> int:
    state = read_state(layout())
    assert state is not None
    return state.services[name].pid


def _statements(log: Path, pids: list[int]) -> int:
    lines = log.read_text(errors="replace").splitlines()
    marks = [f"[{pid}]" for pid in pids]
    return sum(any(mark in line for mark in marks) and STATEMENT.search(line) is not None for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", choices=["start", "idle", []])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    rows: dict[str, Callable[[], None]] = {
        "start": lambda: start(options.rounds),
        "idle": lambda: idle(options.seconds),
    }
    for name in options.rows or rows:
        rows[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
