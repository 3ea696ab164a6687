"""The versions of a task, and what their trials came to and cost."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oddish.cli.lookup import of_task
from oddish.cli.output import print_json, say
from oddish.cli.tables import print_table, table
from oddish.cli.text import age, number, one_line, plural
from oddish.client import Client

if TYPE_CHECKING:
    from oddish.client.stored import Spending, TaskVersion, VersionSummary

CURRENT = "current"


def show_versions(client: Client, task: str, version: int | None, *, as_json: bool) -> None:
    """All of a task, by id or name, newest first, or the one of that number."""
    if version is None:
        found = of_task(client, task, client.versions.of_task)
    else:
        found = [of_task(client, task, lambda task_id: client.versions.one(task_id, version))]
    if as_json:
        print_json(found if version is None else found[0])
    else:
        print_versions(found)


def show_detail(client: Client, task: str, *, as_json: bool) -> None:
    """Rewards, counts and costs of the trials of each version, newest first."""
    found = of_task(client, task, client.versions.detail)
    if as_json:
        print_json(found)
        return
    versions = found["versions"]
    say(f"Task {one_line(found['task']['id'])}  {plural(len(versions), 'version')}\n")
    right = ("Version", "Trials", "Mean", "Cost", "Billed")
    made = table("Version", "", "Trials", "States", "Mean", "Passed", "Cost", "Billed", "Last run", right=right)
    for version in versions:
        made.add_row(
            str(version["version"]),
            CURRENT if version["is_current"] else "",
            str(version["trial_count"]),
            _states(version),
            _mean(version),
            f"{version['pass_count']}/{version['reward_total']}" if version["reward_total"] else "–",
            _cost(version),
            _money(version["billed_cost_usd"], version["billed_trial_count"]),
            age(version["last_run_at"]),
        )
    print_table(made)
    totals = found["totals"]
    billed = _money(totals["billed_cost_usd"], totals["billed_trial_count"])
    say(f"\n{plural(totals['total_trials'], 'trial')}, cost {_cost(totals)}, with all that was replaced {billed}")


def print_versions(versions: "Sequence[TaskVersion]") -> None:
    say(f"Task {one_line(versions[0]['task_id'])}\n")
    made = table("Version", "", "Created", "By", "Content", "Message", right=("Version",))
    for version in versions:
        made.add_row(
            str(version["version"]),
            CURRENT if version["is_current"] else "",
            age(version["created_at"]),
            one_line(version["created_by_user_id"]),
            one_line(version["content_hash"], 20),
            one_line(version["message"] or ""),
        )
    print_table(made)


def _states(version: "VersionSummary") -> str:
    counts = {
        "success": version["completed_count"],
        "failed": version["failed_count"],
        "skipped": version["skipped_count"],
        "unfinished": version["pending_count"],
    }
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "–"


def _mean(version: "VersionSummary") -> str:
    return number(version["reward_sum"] / version["reward_total"]) if version["reward_total"] else "–"


def _cost(spending: "Spending") -> str:
    """With a tilde where some of it is an estimate."""
    amount = _money(spending["cost_usd"], spending["cost_trial_count"])
    return f"~{amount}" if spending["cost_has_estimated"] and spending["cost_trial_count"] else amount


def _money(amount: float, trials: int) -> str:
    return f"${amount:.4f}" if trials else "–"
