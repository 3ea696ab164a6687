"""The results viewer: the page of a dataset of 1,000 tasks, 10 cells each, 10 attempts each, beside json reading it."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from bench import cpu
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
began, before = time.monotonic(), time.process_time()
json.loads(text)
print(time.monotonic() - began, time.process_time() - before)
"""
"""Prints the seconds that json takes, and those of the processor."""
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Sample:
    seconds: float
    processor: float
    """Seconds of the server's processor, which other load does not blur."""


@dataclass(frozen=True)
class Server:
    pid: int
    http: httpx2.Client

    def ask(self, path: str) -> Sample:
        began, before = time.monotonic(), cpu.own(self.pid)
        answer = self.http.get(path)
        found = Sample(time.monotonic() - began, cpu.own(self.pid) - before)
        if answer.status_code != 200:
            raise RuntimeError(f"{path} was answered {answer.status_code}: {answer.text[:300]}")
        return found

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
            peer.append(read_by_json(file))
            with served(root) as server:
                cold.append(server.ask(PAGE))
        say("the page is asked for in several ways")
        with served(root) as server:
            for query in VIEWS.values():
                server.ask(PAGE + query)
            warm = {
                name: [server.ask(PAGE + query) for _ in range(options.rounds(20, 2))] for name, query in VIEWS.items()
            }
            held = server.mebibytes()
    asked = {"cold, of a server that has read nothing": (cold, COLD_SECONDS)}
    asked |= {f"warm, {name}": (samples, WARM_SECONDS) for name, samples in warm.items()}
    lines = [line(what, samples, most, peer) for what, (samples, most) in asked.items()]
    lines.append(line("json.loads of its summary.json", peer, None, peer))
    lines.append(
        ("the most memory of the server", f"{held:.0f} MiB", "", "", "", f"< {MOST_MIB} MiB", met(held, MOST_MIB))
    )
    return markdown(("viewer", "p50", "p95", "processor", "ratio", "target", "met"), lines)


def line(what: str, samples: Sequence[Sample], most: float | None, peer: Sequence[Sample]) -> tuple[str, ...]:
    """The ratio is that of the processor's time."""
    half, late = (percentile([sample.seconds for sample in samples], share) for share in (0.5, 0.95))
    used, theirs = (percentile([sample.processor for sample in of], 0.5) for of in (samples, peer))
    target = ("", "") if most is None else (f"< {milliseconds(most)}", met(half, most))
    return (what, milliseconds(half), milliseconds(late), milliseconds(used), f"{used / theirs:.2f}x", *target)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


def met(value: float, most: float) -> str:
    return "yes" if value < most else "NO"


def read_by_json(file: Path) -> Sample:
    said = subprocess.check_output([sys.executable, "-c", READ, str(file)], text=True)
    return Sample(*map(float, said.split()))


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
