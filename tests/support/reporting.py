"""Reports that a program of ``support`` prints about what it found, as this or as another user."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any


def report_of(command: list[str], *, seconds: float) -> dict[str, Any]:
    """The JSON object that ``command`` prints; it sees PATH and this package and nothing else of the environment."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds, env=environment)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report
