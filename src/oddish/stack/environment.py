"""What the processes of a local stack inherit: not the keys of the shell that happened to start it first.

Standard library only: the command line imports it.
"""

import json
import os
from collections.abc import Mapping

from oddish.variables import inherited

FOREIGN = ("ODDISH_API_URL", "ODDISH_API_KEY", "ODDISH_PREVIEW_PR")
"""Variables of a command that uses another server: the stack's own processes must not see them."""
WORKER_CREDENTIALS = "ODDISH_WORKER_CREDENTIALS"
_STORAGE = "ODDISH_STORAGE_URL"
_OF_STORAGE = ("AWS_", "AZURE_", "GOOGLE_")


def stack_environment(source: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What programs and Python need to run, settings, and what settings name: storage and the worker's credentials."""
    prefixes: tuple[str, ...] = ("ODDISH_", "PYTHON")
    if source.get(_STORAGE, "file:").partition(":")[0] != "file":
        prefixes += _OF_STORAGE
    allowed = _listed(source.get(WORKER_CREDENTIALS, ""))
    return {
        name: value
        for name, value in source.items()
        if (inherited(name) or name.startswith(prefixes) or name in allowed) and name not in FOREIGN
    }


def _listed(text: str) -> frozenset[str]:
    """The names of a JSON list; of anything else none, and the worker says what is wrong with it."""
    try:
        names = json.loads(text)
    except ValueError:
        return frozenset()
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
