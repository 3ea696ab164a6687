"""What an environment leaves in the trial directory for the record of the trial."""

import json
from collections.abc import Iterable
from pathlib import Path

from oddish.engine.evidence import ENVIRONMENT_FILE, environment_notes


def add_notes(trial_dir: Path, notes: Iterable[str]) -> None:
    """Add those that are not there yet: a trial may have several environments."""
    known = dict.fromkeys((*environment_notes(trial_dir), *notes))
    trial_dir.mkdir(parents=True, exist_ok=True)
    (trial_dir / ENVIRONMENT_FILE).write_text(json.dumps({"notes": list(known)}))
