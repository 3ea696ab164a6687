"""The recorded Harbor jobs of ``tests/data/harbor-jobs``: what each trial must read as, and how it must be judged.

What the directories hold is the table in ``tests/data/harbor-jobs.md``; what we make of it stands here.
"""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
JOBS = DATA / "harbor-jobs"
TABLE = DATA / "harbor-jobs.md"


@dataclass(frozen=True)
class Verdict:
    """``strict`` and ``measured``: the reasons against the reward under these policies, none if it counts."""

    status: str = "success"
    reasons: tuple[str, ...] = ()
    strict: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    retry: str = "never"
    overridden: bool = False


@dataclass(frozen=True)
class Expected:
    """A row of the table, and the verdicts on it."""

    job: str
    name: str
    task: str
    agent: str
    model: str | None
    rewards: dict[str, float] | None
    exception: str | None
    reward_valid: bool | None
    tests: tuple[int, dict[str, int]] | None
    """Of the CTRF report: their number, and how many of each status there are."""
    tokens: tuple[int | None, int | None, int | None]
    cost_usd: float | None
    steps: dict[str, int] | None
    """Steps of the trajectory by source."""
    verdict: Verdict = Verdict()

    @property
    def trial(self) -> str:
        return f"{self.job}/{self.name}"

    @property
    def directory(self) -> Path:
        return JOBS / self.trial

    @property
    def has_result(self) -> bool:
        return self.reward_valid is not None

    @cached_property
    def reward(self) -> float | None:
        return self.rewards["reward"] if self.rewards else None


def _unscored(reason: str) -> Verdict:
    return Verdict("failed", (reason,), (reason,), (reason,))


NO_REPORT = Verdict(strict=("no_report",))
TIMED_OUT = Verdict(strict=("AgentTimeoutError", "no_report"))
CANCELLED = Verdict("cancelled", *[("cancelled",)] * 3)
VERDICTS = {
    "01-hello-oracle": NO_REPORT,
    "02-hello-nop": NO_REPORT,
    "03-ctrf-metrics": Verdict(),
    "04-zero-tests": Verdict(strict=("empty_report",)),
    "05-fractional": NO_REPORT,
    "06-agent-timeout": TIMED_OUT,
    "07-no-reward-file": _unscored("RewardFileNotFoundError"),
    "08-garbage-reward/verifier-empty-reward": _unscored("RewardFileEmptyError"),
    "08-garbage-reward": _unscored("VerifierOutputParseError"),
    "09-broken-build": _unscored("image_build_failed"),
    "10-two-steps": NO_REPORT,
    "11-separate-verifier": Verdict(),
    "12-cancelled-sigint/slow-count__BdWwUZR": NO_REPORT,
    "12-cancelled-sigint/slow-count__kkzwXv9": NO_REPORT,
    "12-cancelled-sigint": CANCELLED,
    "13-killed/slow-count__57TFSmc": NO_REPORT,
    "13-killed": Verdict("lost", *[("lost",)] * 3, retry="lost"),
    "14a-terminus2-solved": Verdict(),
    "14b-terminus2-failed": Verdict(),
    "14c-terminus2-rate-limit": Verdict("failed", ("rate_limited",), ("rate_limited",), retry="rate_limit"),
    "14d-terminus2-heredoc-hang": Verdict(strict=("AgentTimeoutError",)),
    "15-agent-raises": Verdict(
        "failed", ("RuntimeError",), ("RuntimeError", "no_report"), retry="backoff", overridden=True
    ),
    "16-no-verification": Verdict(
        reasons=("verification_disabled",), strict=("verification_disabled",), measured=("verification_disabled",)
    ),
}
"""By the beginning of the trial's path, the longest that fits."""


def _read_table() -> tuple[Expected, ...]:
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return tuple(_expected([cell.strip() for cell in line.strip("|").split(" | ")]) for line in lines[2:])


def _expected(cells: list[str]) -> Expected:
    job, name, task, agent, model, reward, exception, valid, report, tokens, steps, *_ = cells
    row = Expected(
        job=job,
        name=name,
        task=f"fixtures/{task}",
        agent=agent,
        model=_or_none(model),
        rewards=_rewards(reward),
        exception=_or_none(exception),
        reward_valid={"true": True, "false": False, "no result.json": None}[valid],
        tests=_tests(report),
        tokens=_tokens(tokens),
        cost_usd=float(cost[1]) if (cost := re.search(r"; (\S+) USD", tokens)) else None,
        steps=_counts(steps),
    )
    fitting = max((start for start in VERDICTS if row.trial.startswith(start)), key=len)
    return replace(row, verdict=VERDICTS[fitting])


def _or_none(cell: str) -> str | None:
    return None if cell == "–" else cell


def _rewards(cell: str) -> dict[str, float] | None:
    if cell == "null":
        return None
    primary, _, others = cell.partition(" (")
    named = (other.rsplit(" ", 1) for other in others.strip(")").split(", ") if other)
    return {"reward": float(primary)} | {name: float(value) for name, value in named}


def _tests(cell: str) -> tuple[int, dict[str, int]] | None:
    if cell == "none":
        return None
    if cell == "empty CTRF":
        return 0, {}
    return int(cell.split(" ")[2]), _counts(cell) or {}


def _tokens(cell: str) -> tuple[int | None, int | None, int | None]:
    if cell == "–":
        return None, None, None
    first, cached, last = cell.partition(";")[0].split(" / ")
    return int(first), int(cached), int(last)


def _counts(cell: str) -> dict[str, int] | None:
    """``6 (1 user, 5 agent)`` is ``{"user": 1, "agent": 5}``."""
    inside = cell.partition("(")[2].strip(")")
    return {name: int(count) for count, name in (part.split(" ") for part in inside.split(", "))} if inside else None


TRIALS = _read_table()
