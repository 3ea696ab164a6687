"""A trace of 50 MB with 20,000 messages: its pages, beside json reading the file."""

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.options import Options
from bench.table import markdown
from bench.viewer import line, met, read_by_json, served

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
            peer.append(read_by_json(file))
            with served(root) as server:
                cold.append(server.ask(PAGE))
        with served(root) as server:
            compared = [server.ask(COMPARISON)]
            warm = {name: [server.ask(page) for _ in range(options.rounds(10, 2))] for name, page in VIEWS.items()}
            held = server.mebibytes()
    lines = [line("cold, of a server that has read nothing", cold, COLD_SECONDS, peer)]
    lines += [line(f"warm, {name}", samples, WARM_SECONDS, peer) for name, samples in warm.items()]
    lines.append(line("two such traces side by side, cold", compared, COMPARED_SECONDS, peer))
    lines.append(line("json.loads of the file", peer, None, peer))
    lines.append(
        ("the most memory of the server", f"{held:.0f} MiB", "", "", "", f"< {MOST_MIB} MiB", met(held, MOST_MIB))
    )
    return markdown(("traces", "p50", "p95", "processor", "ratio", "target", "met"), lines)


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
