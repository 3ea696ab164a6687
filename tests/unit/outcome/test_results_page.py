"""What docs/results.md says about reasons, exceptions and functions is what the code does."""

import re
from pathlib import Path

from oddish import stats
from oddish.engine.evidence import CTRF_LIMIT, METRICS_LIMIT
from oddish.outcome import POLICIES, REASONS, VALID_REWARD

PAGE = (Path(__file__).parents[3] / "docs" / "results.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_reason_is_listed_with_its_meaning() -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section("Reasons"), re.MULTILINE))
    assert listed == REASONS
    assert list(listed) == sorted(listed)


def test_every_policy_and_every_exception_that_keeps_a_reward_is_named() -> None:
    table = next(line for line in section("The other policies").splitlines() if line.startswith("|"))
    assert re.findall(r"`(\w+)`", table) == list(POLICIES)
    kept = PAGE.partition("own end: ")[2].partition(". Where")[0]
    assert set(re.findall(r"`(\w+)`", kept)) == VALID_REWARD


def test_the_limits_are_those_of_the_readers() -> None:
    assert (METRICS_LIMIT, CTRF_LIMIT) == (64 * 1024, 8 * 1024 * 1024)
    assert "at most 64 KiB" in section("Files beside the reward")
    assert "at most 8 MiB" in section("Files beside the reward")


def test_the_named_statistics_exist() -> None:
    named = re.findall(r"^\| [^|]+ \| `(\w+)` \|", section("Statistics"), re.MULTILINE)
    assert len(named) == 7
    assert all(callable(getattr(stats, name)) for name in named)
    assert f"{stats.RESAMPLES:,}" in section("Statistics")
