"""``oddish view`` as a program."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

PROGRAM = (sys.executable, "-c", "from oddish.cli import main; main()")


@contextmanager
def viewing(*words: str, environment: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
    """What the command says once it shows something. It ends as after Ctrl-C."""
    with subprocess.Popen(
        [*PROGRAM, "view", *words, "--json"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    ) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
