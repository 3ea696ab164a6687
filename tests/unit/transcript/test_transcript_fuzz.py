"""Whatever an agent writes in its logs: adapters do not raise, take nothing back, and tell only what can be stored."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oddish.storable import storable
from oddish.transcript import Event, Usage, adapter
from oddish.transcript.events import NAME_LIMIT, TEXT_LIMIT
from oddish.transcript.registry import ADAPTERS
from oddish.transcript.usage import COUNT_LIMIT
from support.agent_logs import AGENTS, KEPT, captures
from support.harbor_jobs import JOBS

JUNK: list[Any] = [
    None, True, -1, 0, 7, 10**12, 10**13, 10**30, 1.5, float("nan"), float("inf"), "", "\0", "\ud800", "x" * 3000,
    [], {}, [None], ["text", 1], {"type": "text"}, [{"type": "text", "text": "a"}], {"input_tokens": "many"},
]  # fmt: skip


def records() -> dict[str, list[tuple[str, Any]]]:
    """By agent: the JSON documents of its real logs with the paths of their files."""
    found: dict[str, list[tuple[str, Any]]] = {agent: [] for agent in ADAPTERS}
    for capture in captures(KEPT):
        for path, file in capture.files():
            found[capture.agent] += ((path, document) for document in documents(file))
    found["cursor-cli"] += (("cursor-cli.txt", document) for document in documents(next(KEPT.glob("cursor-cli/*/*"))))
    for file in JOBS.glob("14*/*/agent/trajectory.json"):
        found["terminus-2"].append(("trajectory.json", json.loads(file.read_text())))
    return found


def documents(file: Path) -> Iterator[Any]:
    if file.suffix == ".json":
        yield json.loads(file.read_text())
        return
    for line in file.read_text().splitlines():
        if line.startswith("{"):
            yield json.loads(line)


RECORDS = records()


def damaged(value: Any, chance: random.Random, rate: float) -> Any:
    """``value`` with some of what is in it replaced by junk, by something else from it, or left out."""
    if chance.random() < rate:
        return chance.choice(JUNK)
    if isinstance(value, dict):
        members = [(name, damaged(item, chance, rate)) for name, item in value.items() if chance.random() >= rate / 2]
        if len(members) > 1 and chance.random() < rate:
            first, second = chance.sample(range(len(members)), 2)
            members[first] = (members[first][0], members[second][1])
        return dict(members)
    if isinstance(value, list):
        return [damaged(item, chance, rate) for item in value if chance.random() >= rate / 2]
    return value


def is_sound(event: Event) -> bool:
    texts = [value for value in event.payload.values() if isinstance(value, str)]
    return (
        storable(event.payload) == event.payload
        and all(len(text) <= TEXT_LIMIT for text in texts)
        and len(event.payload.get("name", "")) <= NAME_LIMIT
        and bool(json.dumps(event.payload))
    )


@pytest.mark.parametrize("agent", ADAPTERS)
def test_damaged_records_are_survived(agent: str) -> None:
    for seed in range(12):
        chance = random.Random(f"{agent}{seed}")
        reader, used = adapter(agent), Usage()
        for path, document in chance.choices(RECORDS[agent], k=25):
            if chance.random() < 0.1:
                reader.restart(path)
            content = json.dumps(damaged(document, chance, chance.choice((0.02, 0.1, 0.3))))
            assert all(map(is_sound, reader.feed(path, f"{content}\n".encode())))
            now = reader.usage
            assert now.not_below(used) == now
            assert max(now.input_tokens, now.output_tokens) <= COUNT_LIMIT
            assert now.cost_usd is None or 0 < now.cost_usd < float("inf")
            assert all(len(model) <= NAME_LIMIT for model in (*now.by_model, reader.model or ""))
            used = now
        assert all(map(is_sound, reader.finish()))


@pytest.mark.parametrize("agent", ADAPTERS)
def test_deep_nesting_and_long_numbers_are_survived(agent: str) -> None:
    reader = adapter(agent)
    for path in {path for path, _ in RECORDS[agent]}:
        for content in (
            b'{"type":"assistant","message":{"content":' + b"[" * 100_000 + b"]" * 100_000 + b"}}\n",
            b'{"type":"assistant","message":{"content":[{"type":"tool_use","input":'
            + b"[" * 900
            + b"]" * 900
            + b"}]}}\n",
            b'{"type":"result","num_turns":' + b"9" * 5000 + b"}\n",
            b'{"messages":[{"role":"assistant","content":' + b"[" * 900 + b"]" * 900 + b"}]}\n",
        ):
            assert all(map(is_sound, reader.feed(path, content)))


def test_every_agent_is_damaged() -> None:
    assert all(RECORDS.values())
    assert set(AGENTS.values()) <= set(ADAPTERS)
