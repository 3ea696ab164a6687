"""Rows about commands: how long somebody waits who types one."""

import sys
import tempfile
import time
from pathlib import Path

from bench.figures import Figures
from bench.options import Options
from bench.programs import HARBOR, ODDISH, run
from bench.stacks import TASK, home, stack
from oddish.stack import client as stack_client
from oddish.stack.postgres import EmbeddedPostgres

READ_ROUTES = """
import sys, urllib.request
url, token = sys.argv[1:]
for path in ("/health", "/load", "/tasks?limit=200&include_queue_info=true"):
    request = urllib.request.Request(url + path, headers={"Authorization": "Bearer " + token})
    urllib.request.urlopen(request).read()
"""
"""What the command asks."""


def command_help(options: Options) -> Figures:
    ours, peer, bare = [], [], []
    for number in range(options.rounds(20) + 1):
        mine, theirs = milliseconds(ODDISH, "--help"), milliseconds(HARBOR, "--help")
        interpreter = milliseconds(sys.executable, "-c", "")
        if number:
            ours.append(mine)
            peer.append(theirs)
            bare.append(interpreter)
    return Figures(ours, peer, details={"a bare Python": bare})


def status(options: Options) -> Figures:
    ours, peer, named = [], [], []
    with stack():
        run([ODDISH, "run", str(TASK), "-a", "oracle", "-e", "local", "-E", "shown", "--n-trials", "4", "--quiet"])
        running, token = stack_client.find(), stack_client.token()
        if running is None or token is None:
            raise RuntimeError("the stack has ended")
        for number in range(options.rounds(20) + 1):
            mine = milliseconds(ODDISH, "status")
            theirs = milliseconds(sys.executable, "-I", "-c", READ_ROUTES, running.url, token)
            one = milliseconds(ODDISH, "status", "shown")
            if number:
                ours.append(mine)
                peer.append(theirs)
                named.append(one)
    return Figures(ours, peer, details={"`oddish status EXPERIMENT`": named})


def milliseconds(*command: str) -> float:
    return run(command).seconds * 1000


def first_start(options: Options) -> Figures:
    ours, peer = [], []
    for _ in range(options.rounds(5)):
        with home():
            ours.append(run([ODDISH, "up"]).seconds)
        with tempfile.TemporaryDirectory(prefix="oddish-bench-") as directory:
            peer.append(cluster_start(Path(directory)))
    return Figures(ours, peer)


def warm_start(options: Options) -> Figures:
    ours, peer = [], []
    with home(), tempfile.TemporaryDirectory(prefix="oddish-bench-") as directory:
        run([ODDISH, "up"])
        cluster_start(Path(directory))
        for _ in range(options.rounds(5)):
            run([ODDISH, "down"])
            ours.append(run([ODDISH, "up"]).seconds)
            peer.append(cluster_start(Path(directory)))
    return Figures(ours, peer)


def cluster_start(directory: Path) -> float:
    """Seconds until PostgreSQL accepts connections; it is stopped afterwards."""
    began = time.monotonic()
    with EmbeddedPostgres(directory):
        return time.monotonic() - began
