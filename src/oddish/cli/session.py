"""The server of a command: the one it names, else the one of this machine."""

from collections.abc import Iterator
from contextlib import contextmanager

from oddish.cli.output import notice
from oddish.client import Client
from oddish.client.endpoint import Endpoint, remote_endpoint
from oddish.client.errors import ApiError
from oddish.client.retry import RetryPolicy
from oddish.errors import Unavailable
from oddish.stack import client as stack_client

_LOCAL = "this machine"
_NO_WORKER = "no_worker"


def resolve(api: str | None) -> Endpoint:
    return remote_endpoint(api) or local_endpoint()


def local_endpoint() -> Endpoint:
    """The local stack, started when it is not running."""
    stack = stack_client.ensure(say=notice)
    for line in stack.notices():
        notice(line)
    key = stack_client.token()
    if key is None:
        raise Unavailable(
            f"The stack at {stack.url} has no key in {stack.layout.token}.",
            fix="Run 'oddish down', then the command again.",
        )
    return Endpoint(stack.url, key, _LOCAL)


@contextmanager
def connect(endpoint: Endpoint, retry: RetryPolicy | None = None) -> Iterator[Client]:
    """A client of ``endpoint``. When the local stack has no worker, the error carries the end of the worker's log."""
    try:
        with Client(endpoint.url, endpoint.key, retry=retry) as client:
            yield client
    except ApiError as error:
        if endpoint.source == _LOCAL and error.problem_code == _NO_WORKER and (log := stack_client.worker_log()):
            detail = f"{error.message}\nThe log of the worker ends with:\n{log}"
            raise ApiError({**error.problem, "detail": detail}, error.http_status) from error
        raise
