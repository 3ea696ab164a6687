"""The server of a command: the one it names, else the one of this machine."""

from oddish.cli.output import notice
from oddish.client import Client
from oddish.client.endpoint import Endpoint, remote_endpoint
from oddish.client.retry import RetryPolicy
from oddish.errors import Unavailable
from oddish.stack import client as stack_client


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
    return Endpoint(stack.url, key, "this machine")


def connect(endpoint: Endpoint, retry: RetryPolicy | None = None) -> Client:
    return Client(endpoint.url, endpoint.key, retry=retry)
