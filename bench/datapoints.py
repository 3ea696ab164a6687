"""The row about the gateway: a blocking run, and the bare trial of the same content, by turns."""

import functools
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2

from bench.figures import Figures
from bench.options import Options
from bench.stacks import TASK, stack
from bench.trials import one
from oddish.stack import client as stack_client

ROUTE = "/sandbox/harbor/v2/run/datapoint"


def datapoint(options: Options) -> Figures:
    """By the request's own time and by the trial's recorded end. The first of each fills caches and is not counted.

    Both name the local sandbox: left to itself, the gateway takes Docker where an engine runs.
    """
    ours, peer = [], []
    with stack() as client, archive(TASK) as address:
        task_id = client.upload(TASK)["task_id"]
        headers = {"Authorization": f"Bearer {stack_client.token()}"}
        with httpx2.Client(base_url=stack_client.ensure().url, headers=headers, timeout=120) as http:
            for number in range(options.rounds(20, 2) + 1):
                mine = seconds(http, address)
                theirs = one(client, task_id, f"round-{number}").finished
                if number:
                    ours.append(mine)
                    peer.append(theirs)
    return Figures(ours, peer)


def seconds(http: httpx2.Client, address: str) -> float:
    """From the request to its answer, of a run of the oracle."""
    request = {
        "task_slug": TASK.name,
        "metadata": {"task_archive_url": address},
        "agents": [{"name": "oracle", "harbor_agent": "oracle", "harbor_extensions": {"environment": "local"}}],
    }
    began = time.monotonic()
    answer = http.post(ROUTE, json=request)
    passed = time.monotonic() - began
    if answer.status_code != 200 or answer.json()["status"] != "succeeded":
        raise RuntimeError(f"{ROUTE} was answered {answer.status_code}: {answer.text[:300]}")
    return passed


@contextmanager
def archive(task: Path) -> Iterator[str]:
    """The address of a zip of the task."""
    with tempfile.TemporaryDirectory() as directory:
        with zipfile.ZipFile(Path(directory) / "task.zip", "w") as packed:
            for path in sorted(task.rglob("*")):
                packed.write(path, path.relative_to(task))
        handler = functools.partial(_Handler, directory=directory)
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
            try:
                yield f"http://127.0.0.1:{server.server_port}/task.zip"
            finally:
                server.shutdown()


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Requests are no news."""
