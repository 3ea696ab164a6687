"""The process of a peer, which answers commands."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.options import Options

PROGRAM = Path(__file__).with_name("pgqueuer_peer.py")


class PeerMissing(Exception):
    """It is not installed."""


class Peer:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def begin(self, name: str, *numbers: int) -> None:
        """Have something done; ``answer`` waits for it."""
        if self._process.stdin is None:
            raise RuntimeError("the peer takes no commands")
        self._process.stdin.write(" ".join((name, *map(str, numbers))) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            errors = self._process.stderr.read() if self._process.stderr else ""
            raise PeerMissing(errors.strip().splitlines()[-1] if errors.strip() else "it ended without a word")
        return json.loads(line)

    def ask(self, name: str, *numbers: int) -> Any:
        self.begin(name, *numbers)
        return self.answer()


@contextmanager
def pgqueuer(options: Options, url: str) -> Iterator[Peer]:
    """pgqueuer against the database ``url``. Raises ``PeerMissing``."""
    command = (options.pgqueuer, "-P", str(PROGRAM), url)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            peer = Peer(process)
            peer.answer()
            yield peer
        finally:
            process.terminate()
