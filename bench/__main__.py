"""``scripts/bench``: measure rows of the table, or what stands beside it, and print them with machine and time."""

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict

from bench import (
    browsing,
    claimers,
    claims,
    commands,
    datapoints,
    fairness,
    growth,
    idle,
    live,
    routes,
    storm,
    traces,
    training,
    trials,
    viewer,
)
from bench.figures import Figures
from bench.machine import load, machine
from bench.options import Options
from bench.progress import say
from bench.rows import BY_NAME, ROWS, Row
from bench.table import table
from oddish.errors import OddishError

MEASURES: Mapping[str, Callable[[Options], Figures]] = {
    "docker": trials.docker,
    "local": trials.local,
    "hundred": trials.hundred,
    "claim": claims.claim,
    "start": trials.start,
    "help": commands.command_help,
    "status": commands.status,
    "first-start": commands.first_start,
    "warm-start": commands.warm_start,
    "datapoint": datapoints.datapoint,
    "routes": routes.routes,
    "browse": browsing.browsing,
    "idle": idle.idle,
}
FAILED = "could not be measured"
BESIDE: Mapping[str, Callable[[Options], str]] = {
    "growth": growth.growth,
    "fairness": fairness.fairness,
    "claimers": claimers.claimers,
    "storm": storm.storm,
    "live": live.live,
    "viewer": viewer.viewer,
    "traces": traces.traces,
    "training": training.training,
}


def main() -> int:
    options, names, as_json = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what was started is stopped, too
    where = dict(machine())
    measured = {name: measure(BY_NAME[name], options) for name in names if name in BY_NAME}
    beside = {name: BESIDE[name](options) for name in names if name in BESIDE}
    where["load at the end"] = load()
    status = int(any(figures.missing.startswith(FAILED) for figures in measured.values()))
    if as_json:
        rows = {name: asdict(figures) for name, figures in measured.items()}
        print(json.dumps({"machine": where, "quick": options.quick, "rows": rows, **beside}, indent=2))
        return status
    print("\n".join(f"{name}: {value}" for name, value in where.items()))
    if options.quick:
        print("quick: few rounds and small sizes, not to be quoted")
    for part in (*([table(measured)] if measured else []), *beside.values()):
        print(f"\n{part}")
    return status


def arguments() -> tuple[Options, list[str], bool]:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=__doc__,
        epilog="\n".join(
            [
                *("{:<12} {}".format(row.name, row.what.replace("%", "%%")) for row in ROWS),
                *(f"{name:<12} {sys.modules[part.__module__].__doc__}".rstrip() for name, part in BESIDE.items()),
                "fleet        Many servers and workers, killed and restarted while they work; has options of its own.",
            ]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="by default, those of the table")
    parser.add_argument("--json", action="store_true", help="print all samples as JSON")
    parser.add_argument("--quick", action="store_true", help="few rounds and small sizes: to see that it works")
    parser.add_argument(
        "--pgqueuer", metavar="PYTHON", default=sys.executable, help="interpreter with pgqueuer and asyncpg, the peer"
    )
    given = parser.parse_args()
    if unknown := [name for name in given.rows if name not in BY_NAME and name not in BESIDE]:
        parser.error(f"unknown: {', '.join(unknown)}. There are {', '.join((*BY_NAME, *BESIDE))}.")
    return Options(given.quick, given.pgqueuer), given.rows or list(BY_NAME), given.json


def measure(row: Row, options: Options) -> Figures:
    """A row that cannot be measured says why, and the others are."""
    if row.elsewhere is not None:
        return Figures(missing=f"not measured here: {row.elsewhere}")
    say(f"{row.name}: {row.what}")
    try:
        return MEASURES[row.name](options)
    except (OddishError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        return Figures(missing=f"{FAILED}: {error}")


if __name__ == "__main__":
    sys.exit(main())
