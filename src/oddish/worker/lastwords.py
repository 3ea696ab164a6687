"""What the process of an attempt printed before it ended without a result."""

import os
from pathlib import Path

from oddish.engine.redaction import Redactor

LOG = "runner.log"
SHOWN_BYTES = 4096


def last_words(directory: Path, redactor: Redactor) -> str:
    """The end of its log in the directory of its attempt, without the secrets; empty when there is none."""
    try:
        descriptor = os.open(directory / LOG, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        whole = redactor.text(file.read().decode(errors="replace"))
    return whole[-SHOWN_BYTES:].strip()
