"""The results viewer: the page of a dataset of 1,000 tasks, 10 cells each, 10 attempts each, beside json reading it."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from bench.figures import percentile
from bench.options import Options
from bench.progress import say
from bench.resultsdirs import DATASET, PROJECT, large_dataset
from bench.table import markdown

TASKS, ATTEMPTS = 1000, 10
COLD_SECONDS, WARM_SECONDS, MOST_MIB = 1.5, 0.3, 400
PAGE = f"/projects/{PROJECT}/datasets/{DATASET}"
VIEWS = {
    "first page": "",
    "by model": "?pivot=model",
    "searched": "?q=column+filter+0999",
    "sorted, last page": "?sort=-disagreement&page=20",
    "chosen by outcome": "?passed=all&infra=any",
    "other two compared": "?first=vendor-0/model-0|opencode&second=vendor-3/model-3|opencode&flipped=any",
    "JSON twin": "?format=json",
}
READ = """
import json, sys, time
text = open(sys.argv[1]).read()
began = time.monotonic()
json.loads(text)
print(time.monotonic() - began)
"""
"""Prints the seconds that json takes."""
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Server:
    pid: int
    http: httpx2.Client

    def seconds(self, path: str) -> float:
        began = time.monotonic()
        answer = self.http.get(path)
        passed = time.monotonic() - began
        if answer.status_code != 200:
            raise RuntimeError(f"{path} was answered {answer.status_code}: {answer.text[:300]}")
        return passed

    def mebibytes(self) -> float:
        """The most that it held at once."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def viewer(options: Options) -> str:
    with tempfile.TemporaryDirectory(prefix="oddish-bench-") as directory:
        root = Path(directory)
        file = large_dataset(root, tasks=options.size(TASKS), attempts=ATTEMPTS)
        cold, peer = [], []
        for _ in range(options.rounds(5)):
            peer.append(float(subprocess.check_output([sys.executable, "-c", READ, str(file)])))
            with served(root) as server:
                cold.append(server.seconds(PAGE))
        say("the page is asked for in several ways")
        with served(root) as server:
            first = server.seconds(PAGE)
            warm = {
                name: [server.seconds(PAGE + query) for _ in range(options.rounds(20, 2) + 1)][1:]
                for name, query in VIEWS.items()
            }
            held = server.mebibytes()
    return report(cold=[*cold, first], peer=peer, warm=warm, held=held)


def report(*, cold: list[float], peer: list[float], warm: dict[str, list[float]], held: float) -> str:
    def line(what: str, samples: list[float], most: float) -> tuple[str, ...]:
        middle = percentile(samples, 0.5)
        ratio = f"{middle / percentile(peer, 0.5):.2f}x"
        met = "yes" if percentile(samples, 0.95) < most else "NO"
        return (
            what,
            f"{middle * 1000:.0f} ms",
            f"{percentile(samples, 0.95) * 1000:.0f} ms",
            ratio,
            f"{most * 1000:.0f} ms",
            met,
        )

    lines = [
        line("cold, from a server that has read nothing", cold, COLD_SECONDS),
        *(line(f"warm: {name}", samples, WARM_SECONDS) for name, samples in warm.items()),
        (
            "json.loads of its summary.json",
            f"{percentile(peer, 0.5) * 1000:.0f} ms",
            f"{percentile(peer, 0.95) * 1000:.0f} ms",
            "1.00x",
            "",
            "",
        ),
        (
            "the most memory that the server held",
            f"{held:.0f} MiB",
            "",
            "",
            f"{MOST_MIB} MiB",
            "yes" if held < MOST_MIB else "NO",
        ),
    ]
    return markdown(("viewer", "p50", "p95", "ratio", "target", "met"), lines)


@contextmanager
def served(root: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "oddish.web", str(root), "--public", "--json", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            with httpx2.Client(base_url=url, timeout=PATIENCE_SECONDS) as http:
                http.get("/assets/none")
                yield Server(process.pid, http)
        finally:
            process.terminate()
