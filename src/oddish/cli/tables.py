"""Tables of trials, tasks and results."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from oddish.cli.output import console, say
from oddish.cli.spending import total_cost, used
from oddish.cli.text import between, joined, number, one_line
from oddish.cli.trials import (
    NOT_VERIFIED,
    Row,
    cancelled,
    detail,
    errored,
    finished,
    index,
    model_label,
    note,
    reward_label,
    rows,
    score,
    skipped,
    succeeded,
    unverified,
    word,
)
from oddish.client.types import Task, Trial

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

STYLES = {
    "success": "green",
    "completed": "green",
    "failed": "red",
    "cancelled": "yellow",
    "running": "cyan",
    "retrying": "yellow",
    "skipped": "dim",
    "queued": "dim",
}
REWARDS_SHOWN = 10
LISTED = 20
RULER = "─"
RULE = 80
"""Columns of the rule under the headings where nobody watches."""


def table(*columns: str, right: Sequence[str] = (), whole: Sequence[str] = ()) -> "Table":
    """A table without rows. What is in the columns ``whole``, such as an id, is never broken."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        side: Literal["left", "right"] = "right" if column in right else "left"
        made.add_column(column, justify=side, overflow="fold", no_wrap=column in whole)
    return made


def print_table(made: "Table") -> None:
    """Draw the table; where nobody watches, without the padding at the ends of lines and with a short rule."""
    target = console()
    for column in made.columns:
        if column.no_wrap:
            column.min_width = max(target.measure(cell).maximum for cell in (column.header, *column.cells))
    if target.is_terminal:
        target.print(made, crop=False)
        return
    with target.capture() as drawn:
        target.print(made)
    say("\n".join(_without_excess(line) for line in drawn.get().splitlines()))


def _without_excess(line: str) -> str:
    return line[:RULE] if line and not line.strip(f"{RULER} ") else line.rstrip()


def status_text(status: str) -> "Text":
    from rich.text import Text

    return Text(one_line(status), style=STYLES.get(status, ""))


def _rewards(row: Row) -> str:
    if row.unverified == len(row.trials):
        return NOT_VERIFIED
    return joined((number(score(trial)) for trial in row.trials), REWARDS_SHOWN).replace(", ", " ")


def _passed(row: Row) -> str:
    """Of the trials with a reward that counts."""
    scored = len(row.rewards)
    return f"{row.passed}/{scored}" if scored else "–"


def print_results(tasks: Iterable[Task], trials: Sequence[Trial]) -> None:
    """Rewards by task, agent and model; after them why trials have none, and what happened beside those that have."""
    occasional = {"Not verified": unverified, "Cancelled": cancelled, "Skipped": skipped}
    counted = {name: belongs for name, belongs in occasional.items() if any(map(belongs, trials))}
    spent = ["Cost"] if any(used(trial) for trial in trials) else []
    columns = ["Task", "Agent", "Model", "Trials", "Rewards", "Mean", "Passed", "Errors"]
    made = table(*columns, *counted, *spent, right=("Trials", "Mean", "Cost"), whole=("Task",))
    for row in rows(tasks, trials):
        cells = [
            one_line(row.task),
            one_line(row.agent),
            model_label(row.model),
            str(len(row.trials)),
            _rewards(row),
            number(row.mean),
            _passed(row),
            _count(sum(map(errored, row.trials))),
        ]
        cells += [_count(sum(map(belongs, row.trials))) for belongs in counted.values()]
        made.add_row(*cells, *(total_cost(row.trials) for _ in spent))
    print_table(made)
    failures = [trial for trial in trials if finished(trial) and not succeeded(trial)]
    if failures:
        say()
        reasons = table("Trial", "Status", "Reason", whole=("Trial",))
        for trial in failures[:LISTED]:
            reasons.add_row(one_line(trial["id"]), status_text(word(trial)), detail(trial))
        if len(failures) > LISTED:
            reasons.add_row(f"and {len(failures) - LISTED} more", "", "")
        print_table(reasons)
    _print_notes(trials)


def _print_notes(trials: Sequence[Trial]) -> None:
    notes = [(trial["id"], text) for trial in trials if (text := note(trial))]
    if not notes:
        return
    say("\nNotes")
    made = table("Trial", "Note", whole=("Trial",))
    for trial_id, text in notes[:LISTED]:
        made.add_row(one_line(trial_id), text)
    if len(notes) > LISTED:
        made.add_row(f"and {len(notes) - LISTED} more", "")
    print_table(made)


def _count(number_of: int) -> str:
    return str(number_of) if number_of else "–"


def print_trials(trials: Sequence[Trial]) -> None:
    made = table(
        "#", "Agent", "Model", "Status", "Reward", "Attempts", "Time", "Detail", right=("#", "Reward", "Attempts")
    )
    for trial in trials:
        made.add_row(
            one_line(index(trial)),
            one_line(trial["agent"]),
            model_label(trial["model"]),
            status_text(word(trial)),
            reward_label(trial),
            str(trial["attempts"]),
            between(trial["started_at"], trial["finished_at"]),
            detail(trial),
        )
    print_table(made)
