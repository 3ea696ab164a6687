"""``oddish`` as a process with a state directory of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_PROGRAM = [sys.executable, "-c", "from oddish.cli import main; main()"]
_PATIENCE = 300


class Cli:
    def __init__(self, home: Path) -> None:
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
