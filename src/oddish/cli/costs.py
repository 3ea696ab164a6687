"""``oddish costs``: what was spent, on what and by whom."""

from collections.abc import Iterable, Sequence

import click

from oddish.cli.group import Command
from oddish.cli.options import api_option, json_option
from oddish.cli.output import print_json, say, warn
from oddish.cli.session import connect, resolve
from oddish.cli.spending import NOT_KNOWN
from oddish.cli.tables import print_table, table
from oddish.cli.text import moment, one_line, plural
from oddish.client.spending import Costs, CostSeries, Spend, TokenTotals, UnknownCost, UserCosts
from oddish.money import dollars

ROWS_SHOWN = 20
STEPS_SHOWN = 31
LONGEST_DAYS = 3650
NO_PRICE = "no_price"


@click.command(cls=Command)
@click.option("--user", metavar="USER", help="What one user has spent, by id or name. Default: the organisation.")
@click.option(
    "--window-days",
    type=click.IntRange(0, LONGEST_DAYS),
    default=7,
    show_default=True,
    metavar="N",
    help="How many days back; 0 is all time.",
)
@api_option
@json_option
def costs(user: str | None, window_days: int, api: str | None, as_json: bool) -> None:
    """Show what was spent, in US dollars. This takes a key of scope full.

    All attempts that were run here count, also those of failed, replaced and deleted trials; those that run have cost
    what they have so far. `~` marks what was worked out from tokens and prices.
    """
    with connect(resolve(api)) as client:
        if user is None:
            of_all = client.costs.organisation(window_days=window_days)
            print_json(of_all) if as_json else _print_organisation(of_all)
        else:
            of_one = client.costs.user(user, window_days=window_days)
            print_json(of_one) if as_json else _print_user(of_one)


def _print_organisation(found: Costs) -> None:
    totals = found["totals"]
    say(f"Spent {_span(found)}: {_cost(totals)}")
    if totals["prev_cost_usd"] is not None:
        say(f"  {dollars(totals['prev_cost_usd'])} in the {plural(found['window_days'], 'day')} before")
    say(f"  {dollars(totals['month_cost_usd'])} in this month")
    users = plural(totals["user_count"], "user")
    _print_parts(found, totals, f"{users} in {plural(totals['experiment_count'], 'experiment')}")
    _print_spends("User", ((f"{one['name']} ({one['owner_user_id']})", one) for one in found["by_user"]))
    _print_spends("Experiment", ((one["experiment_name"], one) for one in found["experiments"]))
    _print_unknown(found["unknown"])


def _print_user(found: UserCosts) -> None:
    totals = found["totals"]
    say(f"Spent by {one_line(found['name'])} ({one_line(found['billed_user_id'])}) {_span(found)}: {_cost(totals)}")
    _print_parts(found, totals, plural(totals["task_count"], "task"))
    _print_spends("Task", ((one["task_id"], one) for one in found["tasks"]))
    _print_unknown(found["unknown"])


def _print_parts(found: Costs | UserCosts, totals: TokenTotals, of_what: str) -> None:
    trials, attempts = plural(totals["trial_count"], "trial"), plural(totals["attempt_count"], "attempt")
    running = totals["inflight_trial_count"]
    say(f"  {attempts} at {trials} of {of_what}" + (f", {running} of them running" if running else ""))
    say(
        f"  {totals['input_tokens']:,} tokens in ({totals['cache_tokens']:,} from a cache), "
        f"{totals['output_tokens']:,} out"
    )
    _print_steps(found["series_by_model"], found["bucket"])
    _print_spends("Agent", ((one["agent"], one) for one in found["by_agent"]))
    _print_spends("Model", ((one["model"] or "–", one) for one in found["by_model"]))


def _span(found: Costs | UserCosts) -> str:
    start = moment(found["window_start"])
    return f"since {start:%Y-%m-%d %H:%M} UTC" if start else "in all"


def _print_steps(series: CostSeries, bucket: str) -> None:
    spent = [step for step in series["buckets"] if step["trial_count"] or step["cost_usd"]]
    if not spent:
        return
    say()
    shape = "%Y-%m-%d %H:%M" if bucket == "hour" else "%Y-%m-%d"
    made = table(bucket.capitalize(), "Cost", "Trials", right=("Cost", "Trials"))
    for step in spent[-STEPS_SHOWN:]:
        start = moment(step["bucket_start"])
        made.add_row(f"{start:{shape}}" if start else "–", dollars(step["cost_usd"]), str(step["trial_count"]))
    print_table(made)
    _print_rest(len(spent) - STEPS_SHOWN)


def _print_spends(heading: str, spends: Iterable[tuple[str, Spend]]) -> None:
    found = list(spends)
    if not found:
        return
    say()
    numbers = ("Cost", "Trials", "Attempts", "Unknown")
    made = table(heading, *numbers, right=numbers, whole=numbers)
    for name, spend in found[:ROWS_SHOWN]:
        unknown = _unknown(spend)
        made.add_row(
            one_line(name),
            _cost(spend),
            str(spend["trial_count"]),
            str(spend["attempt_count"]),
            str(unknown) if unknown else "–",
        )
    print_table(made)
    _print_rest(len(found) - ROWS_SHOWN)


def _print_unknown(found: Sequence[UnknownCost]) -> None:
    if not found:
        return
    say()
    warn("What these have cost is not known, and in no sum above:")
    for one in found[:ROWS_SHOWN]:
        attempts, agent, model = plural(one["attempt_count"], "attempt"), one_line(one["agent"]), one_line(one["model"])
        if one["reason"] == NO_PRICE:
            say(f"  {attempts} of {agent}: {model if one['model'] else 'its model'} has no price")
        else:
            say(f"  {attempts} of {agent}" + (f" with {model}" if one["model"] else "") + ": nothing says what it used")
    _print_rest(len(found) - ROWS_SHOWN)


def _print_rest(hidden: int) -> None:
    if hidden > 0:
        say(f"and {hidden} more; --json has more of them")


def _unknown(spend: Spend) -> int:
    return spend["unpriced_attempt_count"] + spend["unreported_attempt_count"]


def _cost(spend: Spend) -> str:
    """Not known where nothing is: 0 is what is known to be free."""
    if spend["cost_usd"] == 0 and _unknown(spend):
        return NOT_KNOWN
    return f"{'~' if spend['cost_estimated_usd'] else ''}{dollars(spend['cost_usd'])}"
