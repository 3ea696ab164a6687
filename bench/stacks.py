"""A local stack with a state directory of its own."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oddish import Client
from oddish.client.types import SweepConfig, SweepRequest, Trial
from oddish.stack import client as stack_client
from oddish.stack.layout import layout
from oddish.stack.state import read_state

TASK = Path(__file__).parents[1] / "examples" / "hello-world"
CLOSED = ("ODDISH_API_URL", "ODDISH_API_KEY", "ODDISH_PREVIEW_PR")
"""With these, commands would use another server."""


@contextmanager
def home() -> Iterator[Path]:
    """A new state directory, which is the one of this process and what it starts; what still runs there is stopped."""
    before = {name: os.environ.pop(name, None) for name in (*CLOSED, "ODDISH_HOME")}
    with tempfile.TemporaryDirectory(prefix="oddish-bench-") as directory:
        os.environ["ODDISH_HOME"] = directory
        try:
            yield Path(directory)
        finally:
            stack_client.stop()
            del os.environ["ODDISH_HOME"]
            os.environ.update({name: value for name, value in before.items() if value is not None})


@contextmanager
def stack() -> Iterator[Client]:
    """A running stack and a client of it."""
    with home():
        running = stack_client.ensure()
        with Client(running.url, stack_client.token()) as client:
            yield client


def service_pid(name: str) -> int:
    """The process of a service of the running stack."""
    state = read_state(layout())
    if state is None:
        raise RuntimeError("no stack runs")
    return state.services[name].pid


def submit(client: Client, task_id: str, experiment: str, *, environment: str = "local", trials: int = 1) -> list[str]:
    """Trials of the oracle; their ids."""
    config: SweepConfig = {"agent": "oracle", "model": None, "n_trials": trials, "environment": environment}
    request: SweepRequest = {
        "task_id": task_id,
        "configs": [config],
        "experiment_id": experiment,
        "priority": "low",
    }
    answer = client.sweep(request)
    return list(answer["new_trial_ids"])


def ended(client: Client, trial_id: str) -> Trial:
    """The trial when it has ended."""
    while (trial := client.trial(trial_id))["finished_at"] is None:
        time.sleep(0.05)
    return trial
