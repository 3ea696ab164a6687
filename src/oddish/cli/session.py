"""The server of a command: the one it names, else the one of this machine."""

from oddish.client import Client
from oddish.client.endpoint import Endpoint, remote_endpoint
from oddish.client.retry import RetryPolicy


def resolve(api: str | None) -> Endpoint:
    return remote_endpoint(api) or local_endpoint()


def local_endpoint() -> Endpoint:
    """The local stack, started when it is not running."""
    from oddish.stack.find import ensure, token

    stack = ensure()
    return Endpoint(stack.url, token(), "this machine")


def connect(endpoint: Endpoint, retry: RetryPolicy | None = None) -> Client:
    return Client(endpoint.url, endpoint.key, retry=retry)
