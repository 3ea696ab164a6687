"""Trials whose agent says so many lines a second, all at the same time, and who follows them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Thread

from oddish import Client
from oddish.client.types import SweepConfig, SweepRequest

TALKER = Path(__file__).with_name("talker.py")
AGENT = "claude-code"
MODEL = "anthropic/claude-sonnet-4-5"
RATE = 50
"""Lines a second."""
PATIENCE_SECONDS = 600.0
"""Until all of them are ready to talk."""
DOCKERFILE = """FROM debian:bookworm-slim
COPY --chmod=755 claude /usr/local/bin/claude
WORKDIR /app
"""
FILES = {
    "task.toml": 'schema_version = "1.4"\n[agent]\ntimeout_sec = 900\n[verifier]\ntimeout_sec = 60\n',
    "instruction.md": "Talk.\n",
    "environment/Dockerfile": DOCKERFILE,
    "environment/claude": TALKER.read_text(),
    "tests/test.sh": "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n",
}


@dataclass
class Follower:
    """What it heard of its trial: the numbers of the lines, and how many seconds each was on its way."""

    trial_id: str
    numbers: list[int] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)

    def follow(self, url: str, token: str | None) -> None:
        with Client(url, token) as client:
            for news in client.live.follow(self.trial_id):
                now = time.time()
                if "kind" in news and news["kind"] == "message":
                    number, said = str(news["payload"]["text"]).split()
                    self.numbers.append(int(number))
                    self.latencies.append(now - float(said))


@contextmanager
def gate(count: int) -> Iterator[tuple[str, Barrier]]:
    """An address that answers once all talkers and the caller wait for it, and the barrier that the caller waits at."""
    barrier = Barrier(count + 1, timeout=PATIENCE_SECONDS)
    handler = type("Handler", (_Gate,), {"barrier": barrier})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", barrier
        finally:
            barrier.abort()
            server.shutdown()
            thread.join()


class _Gate(BaseHTTPRequestHandler):
    barrier: Barrier

    def do_GET(self) -> None:
        try:
            self.barrier.wait()
        except BrokenBarrierError:
            self.send_response(503)
        else:
            self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Requests are no news."""


def submit(client: Client, directory: Path, gate_url: str, *, trials: int, seconds: float) -> list[str]:
    """Their ids."""
    task = directory / "talking"
    for path, content in FILES.items():
        (task / path).parent.mkdir(parents=True, exist_ok=True)
        (task / path).write_text(content)
    said = {"TALK_GATE": gate_url, "TALK_RATE": str(RATE), "TALK_SECONDS": str(seconds)}
    config: SweepConfig = {
        "agent": AGENT,
        "model": MODEL,
        "n_trials": trials,
        "environment": "local",
        "agent_config": {"env": {"ANTHROPIC_API_KEY": "not-a-key", **said}, "kwargs": {"skip_install": True}},
    }
    request: SweepRequest = {
        "task_id": client.upload(task)["task_id"],
        "experiment_id": "talking",
        "priority": "low",
        "max_trial_attempts": 1,
        "configs": [config],
    }
    return list(client.sweep(request)["new_trial_ids"])
