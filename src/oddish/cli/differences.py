"""Where a dataset that was exported has other numbers than ``oddish status`` shows of the same trials, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields

from oddish.cli.output import say
from oddish.cli.tables import print_table, table
from oddish.cli.text import joined, number, one_line, plural
from oddish.cli.trials import cancelled, finished, score, skipped, succeeded, unverified
from oddish.client.types import Trial
from oddish.viewer.policies import (
    DATASET_POLICY,
    RULES,
    STATUS_POLICY,
    ComparedCell,
    Counted,
    Numbers,
    Rule,
    Standing,
)
from oddish.viewer.trials import NO_MODEL

SHOWN = 10
"""Cells of which the numbers are printed."""
TRIALS_SHOWN = 5
"""That are named for each rule."""


def counted(trial: Trial) -> Counted:
    """What a trial counts for in the tables of ``oddish status``."""
    reason = next(iter(trial.get("reasons") or []), None)
    return Counted(_standing(trial), score(trial), reason)


def _standing(trial: Trial) -> Standing:
    if not finished(trial):
        return "not_ended"
    if skipped(trial):
        return "skipped"
    if not succeeded(trial):
        return "cancelled" if cancelled(trial) else "errored"
    if unverified(trial):
        return "not_verified"
    return "ambiguous" if trial["reward"] is None else "scored"


def differences_document(cells: Sequence[ComparedCell]) -> dict[str, object]:
    return {
        "status_policy": STATUS_POLICY,
        "dataset_policy": DATASET_POLICY,
        "differing_cells": len(_differing(cells)),
        "rules": {rule: RULES[rule] for rule in _rules(cells)},
        "cells": [asdict(cell) for cell in cells],
    }


def say_differences(cells: Sequence[ComparedCell]) -> None:
    """One line where there are none; else the cells that differ, and of each rule what it makes of which trials."""
    differing = _differing(cells)
    if not differing:
        say(f"Numbers: as `oddish status` shows them, in {plural(len(cells), 'cell')}")
        return
    say(f"Numbers: other than `oddish status` shows them in {len(differing)} of {plural(len(cells), 'cell')}\n")
    made = table("Task", "Agent", "Model", "oddish status", "Dataset", "Rule", whole=("Task", "Rule"))
    for cell in differing[:SHOWN]:
        status, dataset = _told(cell)
        made.add_row(
            one_line(cell.task),
            one_line(cell.harness),
            "–" if cell.model == NO_MODEL else one_line(cell.model),
            status,
            dataset,
            ", ".join(_rules([cell])),
        )
    print_table(made)
    if len(differing) > SHOWN:
        say(f"and {len(differing) - SHOWN} more; --json lists them")
    say()
    for rule in _rules(differing):
        say(f"{rule}: {RULES[rule]}")
        if trials := _named(differing, rule):
            say(f"  {trials}")


def _differing(cells: Sequence[ComparedCell]) -> list[ComparedCell]:
    return [cell for cell in cells if cell.differences]


def _rules(cells: Sequence[ComparedCell]) -> list[Rule]:
    found = {difference.rule for cell in cells for difference in cell.differences}
    return [rule for rule in RULES if rule in found]


def _named(cells: Sequence[ComparedCell], rule: Rule) -> str:
    trials = [
        f"{one_line(each.trial)}{f' ({one_line(each.reason)})' if each.reason else ''}"
        for cell in cells
        for each in cell.differences
        if each.rule == rule and each.trial is not None
    ]
    return joined(trials, TRIALS_SHOWN)


def _told(cell: ComparedCell) -> tuple[str, str]:
    """The numbers of either that are not those of the other."""
    other = {
        field.name for field in fields(Numbers) if getattr(cell.status, field.name) != getattr(cell.dataset, field.name)
    }
    return (
        ", ".join(_numbers(cell.status, other, "trial", "error")),
        ", ".join(_numbers(cell.dataset, other, "attempt", "unmeasured")),
    )


def _numbers(numbers: Numbers, wanted: set[str], trial: str, error: str) -> Iterator[str]:
    if "trials" in wanted:
        yield plural(numbers.trials, trial)
    if wanted & {"scored", "passed"}:
        yield f"{numbers.passed}/{numbers.scored} passed"
    if "mean" in wanted:
        yield f"mean {number(numbers.mean)}"
    if "errors" in wanted:
        yield f"{numbers.errors} {error}" if error == "unmeasured" else plural(numbers.errors, error)
    if "passed_at" in wanted and not wanted & {"scored", "passed"}:
        yield f"passed at {numbers.passed_at}" if numbers.passed_at else "passed at –"
