"""The row about doing nothing."""

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from bench.figures import Figures
from bench.options import Options
from bench.peers import PeerMissing, pgqueuer
from bench.stacks import TASK, service_pid, stack
from bench.statements import StatementLog, logged
from oddish.db.url import plain
from oddish.stack.layout import layout

WORKER = ("oddish-worker", "oddish-heartbeat", "oddish-listen")
"""What the connections of a worker call themselves."""
PEER = "idle_peer"
PERIOD_SECONDS = 15
"""The longest time between two of the same statement of either worker."""
SETTLE_SECONDS = 2.0


def idle(options: Options) -> Figures:
    slices, seconds = options.rounds(4), options.rounds(PERIOD_SECONDS, 3)
    with stack() as client:
        client.upload(TASK)
        url = plain(database_url())
        with logged(layout().log("postgres"), url) as log:
            log.new_database(PEER)
            try:
                with pgqueuer(options, url.replace("@/oddish?", f"@/{PEER}?")) as peer:
                    peer.ask("install")
                    peer.begin("idle", 10 * slices * seconds)
                    return rates(log, slices, seconds)
            except PeerMissing as reason:
                found = rates(log, slices, seconds)
                return replace(found, peer=(), missing=f"no peer, pgqueuer does not run: {reason}")


def rates(log: StatementLog, slices: int, seconds: int) -> Figures:
    """Statements a second of the worker and of the peer."""
    ours, peer = [], []
    kinds: Counter[str] = Counter()
    time.sleep(SETTLE_SECONDS)
    for _ in range(slices):
        log.mark()
        time.sleep(seconds)
        executed = log.since(log.processes(*WORKER))
        kinds.update(statement[:70] for statement in executed)
        ours.append(len(executed) / seconds)
        peer.append(len(log.since(log.processes(PEER))) / seconds)
    notes = [f"{count / slices / seconds:.2f} a second: {kind} ..." for kind, count in kinds.most_common(8)]
    return Figures(ours, peer, notes=notes)


def database_url() -> str:
    """Of the running stack, from the environment of its worker."""
    entries = Path(f"/proc/{service_pid('worker')}/environ").read_bytes().split(b"\0")
    [url] = [entry.split(b"=", 1)[1].decode() for entry in entries if entry.startswith(b"ODDISH_DATABASE_URL=")]
    return url
