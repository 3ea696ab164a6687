"""A training run of 200,000 steps: its page with a chart of each metric, beside json reading each of its lines."""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.options import Options
from bench.table import markdown
from bench.viewer import MOST_MIB, Sample, line, met, served

STEPS, NEW = 200_000, 1_000
COLD_SECONDS, WARM_SECONDS = 1.0, 0.5
RUN = "projects/bench/runs/long"
READ = """
import json, sys, time
began, before = time.monotonic(), time.process_time()
for line in open(sys.argv[1]):
    json.loads(line)
print(time.monotonic() - began, time.process_time() - before)
"""
"""Prints the seconds that json takes, and those of the processor."""
_SEED = 1


def training(options: Options) -> str:
    """Seconds that the page takes: the first time, with nothing new, and after more steps."""
    with tempfile.TemporaryDirectory(prefix="oddish-bench-") as directory:
        root = Path(directory)
        file = _written(root, options.size(STEPS))
        cold, peer, grown = [], [], []
        for _ in range(options.rounds(5)):
            said = subprocess.check_output([sys.executable, "-c", READ, str(file)], text=True)
            peer.append(Sample(*map(float, said.split())))
            with served(root) as server:
                cold.append(server.ask(f"/{RUN}"))
        with served(root) as server:
            server.ask(f"/{RUN}")
            warm = [server.ask(f"/{RUN}") for _ in range(options.rounds(10, 2))]
            for begin in range(STEPS, STEPS + options.rounds(10, 2) * NEW, NEW):
                with file.open("a") as out:
                    out.write(_lines(begin, begin + NEW))
                grown.append(server.ask(f"/{RUN}"))
            held = server.mebibytes()
    lines = [
        line("cold, of a server that has read nothing", cold, COLD_SECONDS, peer),
        line("warm, nothing new", warm, WARM_SECONDS, peer),
        line(f"warm, {NEW:,} more steps", grown, WARM_SECONDS, peer),
        line("json.loads of each line", peer, None, peer),
        ("the most memory of the server", f"{held:.0f} MiB", "", "", "", f"< {MOST_MIB} MiB", met(held, MOST_MIB)),
    ]
    return markdown(("training run", "p50", "p95", "processor", "ratio", "target", "met"), lines)


def _written(root: Path, steps: int) -> Path:
    for name in ("projects/bench/project.json", f"{RUN}/run.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("{}")
    file = root / RUN / "train" / "metrics.jsonl"
    file.parent.mkdir()
    file.write_text(_lines(0, steps))
    return file


def _lines(begin: int, end: int) -> str:
    draw = random.Random(_SEED + begin)
    return "".join(f"{json.dumps(_step(draw, number))}\n" for number in range(begin, end))


def _step(draw: random.Random, number: int) -> dict[str, float]:
    return {
        "step": number,
        "reward": draw.random(),
        "reward_std": 0.0 if number % 10 == 0 else draw.random() / 4,
        "loss": draw.random(),
        "ratio": 1 + draw.random() / 100,
        "kl": draw.random(),
        "entropy": draw.random(),
        "n_rollouts": 8,
        "n_unscorable": draw.randrange(3),
        "wall_s": 40 + 10 * draw.random(),
    }
