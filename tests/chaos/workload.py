"""What runs while the faults happen: a mixture of small tasks whose every byte is known in advance."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chaos.facts import Digest, Expectation

SCORED = "echo 1 > /logs/verifier/reward.txt"
KEPT = "artifacts/logs/artifacts"
"""Where the attempt's files have what the task left in ``/logs/artifacts``."""
MANY = 60
LARGE_BYTES = 9 * 1024 * 1024
"""A bucket gets more than 8 MiB in several parts."""


@dataclass(frozen=True)
class Work:
    """A task and how trials of it are asked for. ``share``: its part of all submissions."""

    name: str
    share: int
    solve: str = "true"
    test: str = SCORED
    agent: str = "oracle"
    reward: float | None = 1.0
    artifacts: Mapping[str, bytes] = field(default_factory=dict)
    """By path below ``/logs/artifacts``, as ``solve`` writes them."""
    endless: bool = False
    """It ends by being cancelled."""

    def write(self, directory: Path, tag: str) -> Path:
        """The task below ``directory``; its name begins with ``tag``."""
        task = directory / f"{tag}-{self.name}"
        files = {
            "task.toml": 'schema_version = "1.4"\n[agent]\ntimeout_sec = 900\n[verifier]\ntimeout_sec = 60\n',
            "instruction.md": "Do it.\n",
            "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
            "solution/solve.sh": f"#!/bin/sh\nset -e\nmkdir -p /logs/artifacts\n{self.solve}\n",
            "tests/test.sh": f"#!/bin/sh\n{self._checks()}{self.test}\n",
        }
        for path, content in files.items():
            (task / path).parent.mkdir(parents=True, exist_ok=True)
            (task / path).write_text(content)
        return task

    def _checks(self) -> str:
        """On a full disk the task can write less than it should: then there is no reward."""
        sums = [f"{digest(content).sha256}  /logs/artifacts/{path}\n" for path, content in self.artifacts.items()]
        return f"sha256sum --check --status <<'END' || exit 1\n{''.join(sums)}END\n" if sums else ""

    @property
    def expectation(self) -> Expectation:
        return Expectation(self.reward, {f"{KEPT}/{path}": digest(content) for path, content in self.artifacts.items()})


def digest(content: bytes) -> Digest:
    return Digest(len(content), hashlib.sha256(content).hexdigest())


WORKS: Mapping[str, Work] = {
    work.name: work
    for work in (
        Work("short", share=4),
        Work(
            "sleeping",
            share=4,
            solve="for second in 1 2 3 4; do echo $second; sleep 1; done; echo slept > /logs/artifacts/slept",
            artifacts={"slept": b"slept\n"},
        ),
        Work(
            "idle",
            share=2,
            agent="nop",
            test="echo 0 > /logs/verifier/reward.txt",
            reward=0.0,
        ),
        Work(
            "many",
            share=2,
            solve=f"i=0; while [ $i -lt {MANY} ]; do echo artifact $i > /logs/artifacts/$i.txt; i=$((i + 1)); done",
            artifacts={f"{number}.txt": f"artifact {number}\n".encode() for number in range(MANY)},
        ),
        Work(
            "large",
            share=1,
            solve=f"head -c {LARGE_BYTES} /dev/zero | tr '\\0' x > /logs/artifacts/large.bin",
            artifacts={"large.bin": b"x" * LARGE_BYTES},
        ),
        Work("failing", share=1, test="true", reward=None),
        Work("endless", share=2, solve="sleep 900", reward=None, endless=True),
    )
}
