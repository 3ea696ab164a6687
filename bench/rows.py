"""The rows of the table: what each measures, beside what, and the figure it has to reach. docs/performance.md repeats
them; a test compares the two."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

UNITS = {"ms": 0, "s": 2, "statements/s": 2, "min": 1}
"""Each with the decimals that are shown."""


@dataclass(frozen=True)
class Row:
    name: str
    what: str
    peer: str
    unit: str
    statistic: Literal["p50", "p95", "p99"]
    limit: float
    of: Literal["ours", "ratio"] = "ours"
    """Whether ``limit`` is ours alone, or ours divided by the peer's."""
    most: Mapping[str, float] = field(default_factory=dict)
    """Bounds of further figures, by name."""
    elsewhere: str | None = None
    """How the row is measured when it is none of the bench's."""

    @property
    def target(self) -> str:
        shown = "" if self.statistic == "p50" else f"{self.statistic} "
        bound = f"<= {self.limit:g}x" if self.of == "ratio" else f"{shown}< {self.limit:g} {self.unit}"
        return ", ".join((bound, *(f"<= {number:g} {name}" for name, number in self.most.items())))


ROWS = (
    Row(
        "docker",
        "a trivial oracle trial on a Docker engine, from the command to its end",
        "`harbor run` of the same task on the same engine",
        "s",
        "p50",
        0.35,
        of="ratio",
    ),
    Row(
        "local",
        "the same in the local sandbox on a warm stack, from the submission to the recorded outcome",
        "`harbor run` of the same task in the same sandbox",
        "s",
        "p50",
        1.5,
    ),
    Row(
        "hundred",
        "100 trivial trials in the local sandbox, from the command to the end of the last",
        "`harbor run` of the same trials in the same sandbox, as many at a time",
        "s",
        "p50",
        1.25,
        of="ratio",
    ),
    Row(
        "claim",
        "one claim with 1,000,000 jobs queued over 200 keys, 190 of them at their limit",
        "pgqueuer's dequeue of one job with the same jobs, entrypoints and limits, on the same server",
        "ms",
        "p99",
        10,
    ),
    Row(
        "start",
        "from a submission to the start of its trial on an idle worker",
        "from the command `harbor run` to the start of its trial",
        "ms",
        "p95",
        150,
    ),
    Row("help", "`oddish --help`", "`harbor --help`", "ms", "p50", 250),
    Row(
        "status",
        "`oddish status` with a warm server",
        "a bare Python that reads the same routes",
        "ms",
        "p50",
        600,
    ),
    Row(
        "first-start",
        "from `oddish up` on a machine without state to an answered `/health`",
        "a new PostgreSQL cluster alone, until it accepts connections",
        "s",
        "p50",
        8,
    ),
    Row(
        "warm-start",
        "the same with the state of an earlier run",
        "the same PostgreSQL cluster again, alone",
        "s",
        "p50",
        4,
    ),
    Row(
        "datapoint",
        "the gateway's `run/datapoint` of a trivial oracle task, from the request to its answer",
        "the bare trial of the same task, from the submission to the recorded outcome",
        "s",
        "p50",
        1.5,
        of="ratio",
    ),
    Row(
        "routes",
        "the slowest route that reads, with 100,000 trials in the database",
        "`/health` of the same server, which is one statement",
        "ms",
        "p95",
        150,
        most={"statements": 3},
    ),
    Row(
        "browse",
        "the slowest filter of `oddish ls`, with 100,000 trials of 2,000 tasks in the database",
        "`/health` of the same server, which is one statement",
        "ms",
        "p95",
        150,
        most={"statements": 3},
    ),
    Row(
        "idle",
        "statements of a worker that has nothing to do",
        "a pgqueuer worker that has nothing to do",
        "statements/s",
        "p50",
        1,
    ),
    Row(
        "ci",
        "`.ci/run`, everything from a bare machine on",
        "none",
        "min",
        "p50",
        20,
        elsewhere="time bash .ci/run",
    ),
)
BY_NAME = {row.name: row for row in ROWS}
