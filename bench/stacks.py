"""What the benches of whole stacks share: a stack of their own, and how a row is printed."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from oddish import Client
from oddish.stack import client as stack_client


def row(name: str, **figures: object) -> None:
    shown = "  ".join(
        f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}" for key, value in figures.items()
    )
    print(f"{name:<28}{shown}", flush=True)


@contextmanager
def stack() -> Iterator[Client]:
    with tempfile.TemporaryDirectory(prefix="oddish-bench-") as home:
        os.environ["ODDISH_HOME"] = home
        running = stack_client.ensure()
        try:
            with Client(running.url, stack_client.token()) as client:
                yield client
        finally:
            stack_client.stop()
