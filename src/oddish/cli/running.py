"""A run once it is submitted: watched to its end, and shown."""

from oddish.cli.output import say
from oddish.cli.progress import for_output
from oddish.cli.session import connect
from oddish.cli.submit import Plan
from oddish.cli.tables import print_results
from oddish.cli.text import command
from oddish.cli.trials import finished, skipped, succeeded
from oddish.cli.watch import RETRY, RunScope, Snapshot, watch_until_done
from oddish.client.endpoint import Endpoint
from oddish.client.errors import ApiError
from oddish.client.types import Submitted
from oddish.errors import OddishError


def told_apart(error: OddishError) -> OddishError:
    """The refusal of an environment says what ``-e`` names in other commands: an experiment."""
    if not isinstance(error, ApiError) or error.problem_code != "unknown_environment":
        return error
    fix = " ".join(filter(None, (error.fix, "An experiment is named with -E.")))
    return ApiError({**error.problem, "fix": fix}, error.http_status)


def watch(endpoint: Endpoint, submitted: list[Submitted], plan: Plan, *, quiet: bool) -> Snapshot:
    scope = RunScope.of(submitted, ((config["agent"], config["model"]) for config in plan.agents))
    come_back = command("status", "-e", plan.experiment, "--watch")
    try:
        with connect(endpoint, retry=RETRY) as client:
            return watch_until_done(lambda: scope.snapshot(client), for_output(quiet=quiet), come_back)
    except KeyboardInterrupt:
        say("\nNo longer watching; the trials go on.", err=True)
        say(f"  Come back:  {come_back}", err=True)
        say(f"  Stop them:  {command('cancel', '--experiment', plan.experiment)}", err=True)
        raise


def show(end: Snapshot, plan: Plan, *, quiet: bool) -> None:
    if not quiet:
        say()
    print_results(end.tasks, end.trials)
    if not quiet:
        say("\nNext:")
        for line in _next_commands(end, plan):
            say(f"  {line}")


def _next_commands(end: Snapshot, plan: Plan) -> list[str]:
    """The experiment, and a trial: of one that failed also the ends of its logs."""
    failed = [trial for trial in end.trials if finished(trial) and not succeeded(trial) and not skipped(trial)]
    shown = [command("status", trial["id"], "-v") for trial in failed[:1]]
    shown = shown or [command("status", trial["id"]) for trial in end.trials[:1]]
    return [command("status", "-e", plan.experiment), *shown]
