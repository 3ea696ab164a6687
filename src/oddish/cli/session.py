"""The server of a command: the one it names, else the one of this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from oddish import __version__
from oddish.cli.output import notice, noticing
from oddish.cli.text import one_line
from oddish.client import Client
from oddish.client.endpoint import GATEWAY, GATEWAY_KEY, KEY, Endpoint, given_key, remote_endpoint
from oddish.client.errors import ApiError, Unreachable
from oddish.client.retry import RetryPolicy
from oddish.client.types import Health
from oddish.errors import Unavailable
from oddish.home import home
from oddish.room import shortage
from oddish.stack import client as stack_client

LOCAL = "this machine"
FOREIGN_KEY = (
    f"Unset {KEY} to use this machine's own key, set it to a key made here, or name the server it is for with "
    "ODDISH_API_URL."
)
GATEWAY_GONE = (
    f"Check {GATEWAY}, which named it, or unset it to use the server of all other commands. The gateway of this "
    "machine is there once `oddish up --dev-key KEY` has started it; with ODDISH_IDLE_MINUTES=0 it stays, idle or not."
)
GATEWAY_KEY_REFUSED = (
    f"The key is that of {GATEWAY_KEY}: set it to one of the server that {GATEWAY} names. The stack of this machine "
    "accepts one of your choosing only as long as it runs: `oddish down`, then `oddish up --dev-key KEY`."
)
PATIENT = RetryPolicy(reconnects=80)
"""A server that was there once may be away for ten minutes."""
_NO_WORKER = "no_worker"


def resolve(api: str | None) -> Endpoint:
    return remote_endpoint(api) or local_endpoint()


def local_endpoint() -> Endpoint:
    """The local stack. A key that is given is used, else the stack's own.

    Started when it is not running; with a database elsewhere that is ``InvalidInput``.
    """
    stack = stack_client.ensure(say=notice, own_database=True)
    for line in stack.notices():
        notice(line)
    if (given := given_key()) is not None:
        return Endpoint(stack.url, given, LOCAL)
    key = stack_client.token()
    if key is None:
        raise Unavailable(
            f"The stack at {stack.url} has no key in {stack.layout.token}.",
            fix="Run 'oddish down', then the command again.",
        )
    return Endpoint(stack.url, key, LOCAL, key_source=str(stack.layout.token))


@contextmanager
def connect(endpoint: Endpoint, retry: RetryPolicy | None = None) -> Iterator[Client]:
    """A client of ``endpoint`` that says when it waits for it.

    When the local stack has no worker, the error carries the end of the worker's log.
    """
    tell = noticing()

    def waiting(reason: str, seconds: float) -> None:
        tell(f"{reason} Trying again in {max(1, round(seconds))}s.")

    try:
        with Client(endpoint.url, endpoint.key, retry=retry, waiting=waiting) as client:
            yield client
    except Unreachable as error:
        if endpoint.source == GATEWAY:
            error.fix = GATEWAY_GONE
        raise
    except ApiError as error:
        if endpoint.source == GATEWAY and error.http_status == HTTPStatus.UNAUTHORIZED:
            raise ApiError({**error.problem, "fix": GATEWAY_KEY_REFUSED}, error.http_status) from error
        if endpoint.source == LOCAL and error.problem_code == _NO_WORKER and (log := stack_client.worker_log()):
            detail = f"{error.message}\nThe log of the worker ends with:\n{log}"
            raise ApiError({**error.problem, "detail": detail}, error.http_status) from error
        if endpoint.source == LOCAL and error.http_status >= 500 and (short := shortage(home())) is not None:
            detail = f"{short.message} {error.message}"
            raise ApiError({**error.problem, "detail": detail, "fix": short.fix}, error.http_status) from error
        if endpoint.source == LOCAL and endpoint.key_source == KEY and error.http_status == 401:
            raise ApiError({**error.problem, "fix": FOREIGN_KEY}, error.http_status) from error
        raise


def tell_skew(client: Client, endpoint: Endpoint) -> None:
    """Say so when the server is of another release. The local stack has been asked already.

    Raises what keeps anybody from answering there, or anybody who speaks JSON.
    """
    if endpoint.source == LOCAL:
        return
    try:
        text = skew(client.health())
    except ApiError:
        return  # a deployment may keep /health to itself
    if text:
        notice(text)


def skew(health: Health) -> str | None:
    """What follows from the versions of the server and of this program, if anything does."""
    theirs = one_line(health.get("version") or "")
    if not theirs or _release(theirs) == _release(__version__):
        return None
    return (
        f"The server is oddish {theirs}, this is {__version__}: what only one of them knows is refused or not shown. "
        f"Install oddish {theirs} here to have the same."
    )


def _release(version: str) -> list[str]:
    """Releases that differ in less than this understand each other."""
    return version.split(".")[:2]
