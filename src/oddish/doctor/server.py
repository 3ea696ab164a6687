"""The server that commands use, when one is named, else that of the running stack."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from oddish import __version__
from oddish.client.client import Client
from oddish.client.endpoint import KEY as GIVEN
from oddish.client.endpoint import Endpoint, given_key, remote_endpoint
from oddish.client.errors import ApiError
from oddish.client.retry import RetryPolicy
from oddish.client.types import Health
from oddish.doctor.clock import judge_skew
from oddish.doctor.finding import Finding, ok, problem, warning
from oddish.errors import OddishError
from oddish.stack import client as stack

SERVER, KEY, WORKERS = "Server", "Key", "Workers"
_ANSWER_SECONDS = 2.0


def named() -> bool:
    """Whether commands use another server than that of this machine."""
    return any(os.environ.get(name) for name in ("ODDISH_API_URL", "ODDISH_PREVIEW_PR"))


def look() -> Iterator[Finding]:
    try:
        endpoint = remote_endpoint()
    except OddishError as error:
        yield problem(SERVER, error.message, error.fix)
        return
    if endpoint is not None:
        yield from _ask(endpoint, is_remote=True)
    elif (running := stack.find(probe=True)) is not None:
        own = Endpoint(running.url, stack.token() or "", "this machine", key_source=str(running.layout.token))
        given = given_key()
        yield from _ask(own if given is None else replace(own, key=given, key_source=GIVEN), is_remote=False)


def judge_health(url: str, health: Health) -> Finding:
    version = health.get("version")
    if health["database"] != "connected":
        return problem(SERVER, f"{url} answers, and its database does not.", "Tell who runs it, or look at its log.")
    if version is not None and _release(version) != _release(__version__):
        return warning(
            SERVER,
            f"{url} is oddish {version}, and this is {__version__}.",
            f"Install oddish {version} to be sure of every option.",
        )
    return ok(SERVER, f"{url}, {health['status']}" + (f", version {version}" if version else ""))


def _release(version: str) -> list[str]:
    """Releases that differ in less than this understand each other."""
    return version.split(".")[:2]


def judge_refusal(endpoint: Endpoint, status: int, message: str, *, is_remote: bool) -> Finding:
    """The answer to a question that needs a key."""
    if status == 401:
        own = "" if is_remote else ", or unset it to use this machine's own key"
        return problem(
            KEY,
            f"{endpoint.url} does not know the key of {endpoint.key_source}.",
            f"Set {GIVEN} to a key of that server{own}.",
        )
    if status == 404:
        return warning(KEY, "The server does not tell whether it knows the key.", "Run: oddish status")
    return problem(
        KEY, f"That of {endpoint.key_source} was refused with {status}: {message}", "Use a key that may read."
    )


def judge_workers(alive: int) -> Finding:
    if alive == 0:
        return warning(WORKERS, "None is alive: trials wait.", "Start one, or tell who runs the server.")
    return ok(WORKERS, f"{alive} alive")


def _ask(endpoint: Endpoint, *, is_remote: bool) -> Iterator[Finding]:
    with Client(endpoint.url, endpoint.key, timeout=_ANSWER_SECONDS, retry=RetryPolicy(attempts=1)) as client:
        before = time.time()
        try:
            health = client.health()
        except OddishError as error:
            yield problem(SERVER, error.message, error.fix)
            return
        yield judge_health(endpoint.url, health)
        if is_remote:
            theirs = datetime.fromisoformat(health["timestamp"]).timestamp()
            yield judge_skew(f"the server at {endpoint.url}", theirs, before, time.time())
        try:
            alive = client.load()["workers"]["alive"]
        except ApiError as error:
            yield judge_refusal(endpoint, error.http_status, error.message, is_remote=is_remote)
            return
        yield ok(KEY, f"that of {endpoint.key_source} is accepted")
        yield judge_workers(alive)
