"""A trace of 50 MB with 20,000 messages: its pages, beside json reading the file."""

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.figures import percentile
from bench.options import Options
from bench.table import markdown
from bench.viewer import READ, served

MESSAGES, CHARACTERS = 20_000, 2_000
PLACE = "projects/bench/datasets/traces"
PAGE = f"/{PLACE}/trace/left.json"
COLD_SECONDS, WARM_SECONDS, COMPARED_SECONDS, MOST_MIB = 0.5, 0.3, 1.5, 400
VIEWS = {
    "first messages": PAGE,
    "in the middle": f"{PAGE}?from={MESSAGES // 2}",
    "find what is at the end": f"{PAGE}?find=zebra",
    "find what is everywhere": f"{PAGE}?find=column",
}
COMPARISON = f"/{PLACE}/compare?left=left.json&right=right.json"
_LINES = ('print("value", [1, 2], {"key": 3})\n', "the column is read from data.csv\n", "\tif x < 0.5:\n", "C:\\temp\n")
_SEED = 1


def traces(options: Options) -> str:
    """Seconds that each page takes, from a server that has read nothing and from one that has."""
    with tempfile.TemporaryDirectory(prefix="oddish-bench-") as directory:
        root = Path(directory)
        file = _written(root, options.size(MESSAGES))
        cold, peer = [], []
        for _ in range(options.rounds(5)):
            peer.append(float(subprocess.check_output([sys.executable, "-c", READ, str(file)])))
            with served(root) as server:
                cold.append(server.seconds(PAGE))
        with served(root) as server:
            compared = [server.seconds(COMPARISON)]
            warm = {name: [server.seconds(page) for _ in range(options.rounds(10, 2))] for name, page in VIEWS.items()}
            held = server.mebibytes()
    lines = [
        _line("cold, from a server that has read nothing", cold, peer, COLD_SECONDS),
        *(_line(f"warm: {name}", samples, peer, WARM_SECONDS) for name, samples in warm.items()),
        _line("two such traces side by side, cold", compared, peer, COMPARED_SECONDS),
        _line("json.loads of the file", peer, peer, None),
        ("the most memory that the server held", f"{held:.0f} MiB", "", f"{MOST_MIB} MiB", _met(held < MOST_MIB)),
    ]
    return markdown(("traces", "p50", "ratio", "target", "met"), lines)


def _line(what: str, samples: list[float], peer: list[float], most: float | None) -> tuple[str, ...]:
    middle = percentile(samples, 0.5)
    ratio = f"{middle / percentile(peer, 0.5):.2f}x"
    if most is None:
        return what, f"{middle * 1000:.0f} ms", ratio, "", ""
    return what, f"{middle * 1000:.0f} ms", ratio, f"{most * 1000:.0f} ms", _met(middle < most)


def _met(is_met: bool) -> str:
    return "yes" if is_met else "NO"


def _written(root: Path, messages: int) -> Path:
    for file in ("projects/bench/project.json", f"{PLACE}/summary.json"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("{}")
    text = json.dumps({"task_id": "t", "reward": 0.0, "gold": "1", "messages": list(_messages(messages))})
    for name in ("left.json", "right.json"):
        (root / PLACE / name).write_text(text)
    return root / PLACE / "left.json"


def _messages(count: int) -> Iterator[dict[str, Any]]:
    draw = random.Random(_SEED)
    for number in range(count // 2):
        arguments = json.dumps({"command": f"cat file{number}.csv | head"})
        call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": arguments}}
        yield {"role": "assistant", "content": _text(draw, CHARACTERS // 2), "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": call["id"], "content": _text(draw, 3 * CHARACTERS // 2)}
    yield {"role": "assistant", "content": "The answer is zebra."}


def _text(draw: random.Random, length: int) -> str:
    return "".join(draw.choices(_LINES, k=length // 20))
