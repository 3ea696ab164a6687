"""The policy ``measured`` over attempts, cells and tasks: a null reward is unmeasured, anything else counts. Pure.

A cell holds the attempts of one model and harness at one task, in their order. One that was never measured is left out
of every rate, for infrastructure that failed says nothing about a model. All rates rest on the number of the first
attempt that passed, so that they cannot contradict one another.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from oddish.outcome.facts import PASS


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """The attempts of one cell."""

    attempts: int
    measured: int
    """Those with a reward."""
    passed: int
    """Those with a reward of exactly 1."""
    passed_at: int | None
    """Number of the first passing attempt, from 1, unmeasured ones counted; None if none passed."""

    def passes_within(self, k: int) -> bool | None:
        """Whether one of the first ``k`` attempts passed; None for a cell without a measured one.

        A cell with fewer than ``k`` goes by those it has. Raises ``ValueError`` for k < 1.
        """
        if k < 1:
            raise ValueError(f"k={k} is below 1")
        return None if not self.measured else self.passed_at is not None and self.passed_at <= k


@dataclass(frozen=True, slots=True)
class MeasuredGroup:
    """Cells that have something in common: a model, or a harness."""

    cells: int
    n_measured: int
    """Cells with a measured attempt."""
    pass_at: Mapping[int, float | None]
    """k -> share of the measured cells that passed within ``k`` attempts; None when there are none."""


@dataclass(frozen=True, slots=True)
class MeasuredSummary:
    """A whole dataset."""

    tasks_total: int
    tasks_any_pass: int
    attempts_total: int
    """Unmeasured ones included."""
    attempts_passed: int
    n_all_infra: int
    """Tasks that were attempted and of which no attempt was measured."""


def measured_cell(rewards: Sequence[float | None]) -> MeasuredCell:
    """Read the rewards of a cell's attempts, in their order. One that is not finite is as good as null."""
    known = [reward if reward is not None and math.isfinite(reward) else None for reward in rewards]
    passed_at = known.index(PASS) + 1 if PASS in known else None
    return MeasuredCell(len(known), len(known) - known.count(None), known.count(PASS), passed_at)


def measured_group(cells: Iterable[MeasuredCell], ks: Iterable[int]) -> MeasuredGroup:
    """Rate cells together, each counting once. Raises ``ValueError`` for k < 1."""
    listed = list(cells)
    measured = [cell for cell in listed if cell.measured]
    rates = {k: [cell.passes_within(k) for cell in measured] for k in ks}
    shares = {k: passes.count(True) / len(passes) if passes else None for k, passes in rates.items()}
    return MeasuredGroup(len(listed), len(measured), shares)


def measured_summary(tasks: Mapping[str, Sequence[MeasuredCell]]) -> MeasuredSummary:
    """Count the tasks of a dataset and their attempts, from the cells of each task."""
    attempts = {task: sum(cell.attempts for cell in cells) for task, cells in tasks.items()}
    measured = {task: sum(cell.measured for cell in cells) for task, cells in tasks.items()}
    passed = {task: sum(cell.passed for cell in cells) for task, cells in tasks.items()}
    return MeasuredSummary(
        tasks_total=len(tasks),
        tasks_any_pass=sum(count > 0 for count in passed.values()),
        attempts_total=sum(attempts.values()),
        attempts_passed=sum(passed.values()),
        n_all_infra=sum(attempts[task] > 0 and not measured[task] for task in tasks),
    )
