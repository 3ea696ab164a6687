"""``oddish`` as a process with a state directory of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from oddish import Client
from oddish.stack.layout import Layout
from oddish.stack.state import read_state
from oddish.stack.token import read_token

_PROGRAM = [sys.executable, "-c", "from oddish.cli import main; main()"]
_PATIENCE = 300


class Cli:
    def __init__(self, home: Path) -> None:
        self.home = home
        foreign = ("ODDISH_", "PG")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        self.environ = kept | {"ODDISH_HOME": str(home)}

    def answer(self, *arguments: str | Path) -> tuple[int, str]:
        """Exit code, and what it said on both streams."""
        done = subprocess.run(
            [*_PROGRAM, *map(str, arguments)],
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
        return done.returncode, done.stdout + done.stderr

    def __call__(self, *arguments: str | Path) -> str:
        code, output = self.answer(*arguments)
        assert code == 0, output
        return output

    def json(self, *arguments: str | Path) -> Any:
        return json.loads(self(*arguments, "--json"))

    def client(self) -> Client:
        """Of its stack, which is up: for many questions, each of which would be a process here."""
        state = read_state(Layout(self.home))
        assert state is not None
        return Client(state.url, read_token(Layout(self.home)))
