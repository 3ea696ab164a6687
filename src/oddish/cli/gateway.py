"""``oddish gateway``: runs and verifications of tasks whose archives lie elsewhere."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn, cast

import click

from oddish.cli.completion import environment_names
from oddish.cli.gatewaynews import came_to, conclude, stopped, tell
from oddish.cli.gatewayrequest import agent_of, request_of
from oddish.cli.group import INTERRUPTED, Command
from oddish.cli.options import api_option, json_option
from oddish.cli.output import print_json, print_line, say
from oddish.cli.session import PATIENT, connect, resolve
from oddish.cli.tables import print_table, status_text, table
from oddish.cli.text import age, command, one_line
from oddish.client import Client
from oddish.client.endpoint import gateway_endpoint
from oddish.client.gatewayjobs import STATUSES, ExecuteTasks, JobAccepted, JobStatus, VerifyTask

LISTED = 20

archive_argument = click.argument("archive", metavar="[ARCHIVE_URL]", required=False)
file_option = click.option(
    "-f",
    "--file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The whole request, as JSON or YAML, instead of ARCHIVE_URL and the options about it.",
)
slug_option = click.option("--slug", metavar="NAME", help="What the task is called. Default: the name of the zip.")
env_option = click.option(
    "-e", "--env", metavar="NAME", shell_complete=environment_names, help="Where it runs. Else the server decides."
)
correlation_option = click.option(
    "--correlation-id", metavar="ID", help="Appears in the logs and traces of all that the job does."
)
detach_option = click.option("--detach", is_flag=True, help="Print the job's id and do not wait for its end.")


@click.group()
def gateway() -> None:
    """Have tasks run and verified whose archives lie elsewhere.

    ARCHIVE_URL is the address of a zip of a task's directory, which a worker fetches. With SANDBOX_GATEWAY_URL and
    SANDBOX_API_KEY set, that gateway is used, else the server that all commands use.
    """


@gateway.command(cls=Command)
@archive_argument
@click.option("-a", "--agent", metavar="NAME", help="Agent that attempts the task.")
@click.option("-m", "--model", metavar="MODEL", help="Model for the agent, as provider/model.")
@click.option("-k", "--pass-at-k", type=click.IntRange(min=1), metavar="N", help="How many attempts. Default: 1.")
@click.option("-n", "--n-concurrent", type=click.IntRange(min=1), metavar="N", help="How many of them at once.")
@click.option("--ae", "--agent-env", "agent_env", multiple=True, metavar="KEY=VALUE", help="Variable for the agent.")
@click.option("--ak", "--agent-kwarg", "agent_kwarg", multiple=True, metavar="KEY=VALUE", help="Setting of the agent.")
@click.option(
    "--require-verifier-evidence/--no-require-verifier-evidence",
    "evidence",
    default=None,
    help="Whether a reward is valid only with a test report beside it. Else the server decides.",
)
@env_option
@slug_option
@file_option
@correlation_option
@detach_option
@api_option
@json_option
@click.pass_context
def run(
    ctx: click.Context,
    archive: str | None,
    agent: str | None,
    model: str | None,
    pass_at_k: int | None,
    n_concurrent: int | None,
    agent_env: tuple[str, ...],
    agent_kwarg: tuple[str, ...],
    evidence: bool | None,
    env: str | None,
    slug: str | None,
    file: Path | None,
    correlation_id: str | None,
    detach: bool,
    api: str | None,
    as_json: bool,
) -> None:
    """Run an agent on a task, and say whether its rewards may be believed.

    \b
    Examples:
      oddish gateway run https://storage.example/my-task.zip -a oracle
      oddish gateway run https://storage.example/my-task.zip -a codex -m openai/gpt-5.5 -k 4
      oddish gateway run -f request.json --detach

    \b
    Exit codes:
      0    the rewards are valid for scoring; with --detach: the job is made
      1    they are not, or there is no job
      2    the command line cannot be understood
      130  interrupted; the job goes on
    """
    about = agent_of(agent, model, n_concurrent=n_concurrent, env=env, variables=agent_env, settings=agent_kwarg)
    body = request_of(
        archive,
        file,
        slug,
        {"agents": about and [about], "pass_at_k": pass_at_k, "require_verifier_evidence": evidence},
        needed={"agents": "-a"},
    )
    with _client(api) as client:
        made = client.gateway.execute(cast("ExecuteTasks", body), correlation_id=correlation_id)
        _finish(ctx, client, made, detach=detach, as_json=as_json)


@gateway.command(cls=Command)
@archive_argument
@click.option("--fixture", metavar="URL", help="Address of a zip that is laid over the task's visible_seed.")
@click.option("--repeats", type=click.IntRange(min=1), metavar="N", help="How often, to find out a flaky verifier.")
@env_option
@slug_option
@file_option
@correlation_option
@detach_option
@api_option
@json_option
@click.pass_context
def verify(
    ctx: click.Context,
    archive: str | None,
    fixture: str | None,
    repeats: int | None,
    env: str | None,
    slug: str | None,
    file: Path | None,
    correlation_id: str | None,
    detach: bool,
    api: str | None,
    as_json: bool,
) -> None:
    """Run a task's tests on a workspace, without any agent. What comes of it is nobody's score.

    \b
    Exit codes:
      0    tests/test.sh exited with 0, every time; with --detach: the job is made
      1    it did not, or there is no job
      2    the command line cannot be understood
      130  interrupted; the job goes on
    """
    about = {"workspace_fixture_url": fixture, "repeats": repeats, "environment": env}
    body = request_of(archive, file, slug, about)
    with _client(api) as client:
        made = client.gateway.verify(cast("VerifyTask", body), correlation_id=correlation_id)
        _finish(ctx, client, made, detach=detach, as_json=as_json)


@gateway.command(cls=Command)
@click.argument("job_id", metavar="JOB")
@click.option("--include-side-effects", is_flag=True, help="Notify, deliver and write back as the job did.")
@click.option("--idempotency-key", metavar="KEY", help="The same key makes one job, however often it is sent.")
@detach_option
@api_option
@json_option
@click.pass_context
def retry(
    ctx: click.Context,
    job_id: str,
    include_side_effects: bool,
    idempotency_key: str | None,
    detach: bool,
    api: str | None,
    as_json: bool,
) -> None:
    """Make up for the attempts of JOB that raised: another job of as many, on the same version of the task.

    JOB stays as it is; put the two together for an overall pass@k. Exit codes are those of `oddish gateway run`.
    """
    with _client(api) as client:
        made = client.gateway.retry(job_id, include_side_effects=include_side_effects, idempotency_key=idempotency_key)
        _finish(ctx, client, made, detach=detach, as_json=as_json)


@gateway.command(cls=Command)
@click.argument("job_id", metavar="JOB")
@api_option
@click.option("--json", "as_json", is_flag=True, help="Print each event as one line of JSON.")
@click.pass_context
def events(ctx: click.Context, job_id: str, api: str | None, as_json: bool) -> None:
    """Tell what has happened to JOB and what happens, to its end. Exit codes are those of the command that made it."""
    with _client(api) as client:
        try:
            for event in client.gateway.events(job_id):
                print_line(event) if as_json else tell(event)
        except KeyboardInterrupt:
            _leave(ctx, job_id)
        document = client.gateway.job(job_id)
    ctx.exit(0 if conclude(document, quiet=as_json) else 1)


@gateway.command(cls=Command)
@click.argument("job_id", metavar="JOB")
@api_option
@json_option
def cancel(job_id: str, api: str | None, as_json: bool) -> None:
    """Stop JOB. Attempts that have ended stay as they are."""
    with _client(api) as client:
        cancelled = client.gateway.cancel(job_id)
    if as_json:
        print_json(cancelled)
    else:
        say(stopped(cancelled))


@gateway.command("list", cls=Command)
@click.option("--limit", type=click.IntRange(1, 1000), default=LISTED, show_default=True, metavar="N", help="How many.")
@click.option("--status", type=click.Choice(STATUSES), help="Only those of this status.")
@api_option
@json_option
def list_(limit: int, status: JobStatus | None, api: str | None, as_json: bool) -> None:
    """List jobs, the newest first, with whether their rewards may be believed, of verifications the exit codes."""
    with _client(api) as client:
        found = client.gateway.jobs(limit=limit, status=status)
    if as_json:
        print_json(found)
    elif found["jobs"]:
        shown = table("Job", "Task", "Kind", "Status", "Came to", "Made", whole=("Job",))
        for job in found["jobs"]:
            shown.add_row(
                one_line(job["job_id"]),
                one_line(job["task_slug"]),
                one_line(job["kind"]),
                status_text(job["status"]),
                came_to(job),
                age(job["created_at"]),
            )
        print_table(shown)
    else:
        say(f"There are no jobs that are {status}." if status else "There are no jobs.")


def _client(api: str | None) -> AbstractContextManager[Client]:
    named = gateway_endpoint() if api is None else None
    return connect(named or resolve(api), retry=PATIENT)


def _finish(ctx: click.Context, client: Client, made: JobAccepted, *, detach: bool, as_json: bool) -> None:
    """Wait for the job and say what came of it; its document, and nothing else, as JSON."""
    job_id = made["job_id"]
    if detach:
        print_json(made) if as_json else say(f"{one_line(job_id)} is queued. Follow it: {_follow(job_id)}")
        return
    try:
        for event in client.gateway.events(job_id):
            if not as_json:
                tell(event)
    except KeyboardInterrupt:
        _leave(ctx, job_id)
    document = client.gateway.job(job_id)
    if as_json:
        print_json(document)
    ctx.exit(0 if conclude(document, quiet=as_json) else 1)


def _leave(ctx: click.Context, job_id: str) -> NoReturn:
    say(f"\nNo longer followed; the job goes on. Follow it: {_follow(job_id)}", err=True)
    ctx.exit(INTERRUPTED)


def _follow(job_id: str) -> str:
    return command("gateway", "events", job_id)
