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
OFFERED_ENVIRONMENTS = "ODDISH_OFFERED_ENVIRONMENTS"
PROVIDER_CREDENTIALS = "ODDISH_PROVIDER_CREDENTIALS"
_SETTINGS = ("ODDISH_", "SANDBOX_HARBOR_", "SANDBOX_TERMINUS_")
_STORAGE = "ODDISH_STORAGE_URL"
_OF_STORAGE = ("AWS_", "AZURE_", "GOOGLE_")
_TRACING = "ODDISH_TRACING"
_OF_TRACING = ("OTEL_",)


def stack_environment(source: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What programs and Python need to run, settings, and what settings name: storage, the receiver of traces, the
    worker's credentials, the logins of its environments."""
    prefixes: tuple[str, ...] = (*_SETTINGS, "PYTHON")
    if source.get(_STORAGE, "file:").partition(":")[0] != "file":
        prefixes += _OF_STORAGE
    if source.get(_TRACING, "off") != "off":
        prefixes += _OF_TRACING
    allowed = _listed(_read(source, WORKER_CREDENTIALS)) | _logins(source)
    return {
        name: value
        for name, value in source.items()
        if (inherited(name) or name.startswith(prefixes) or name in allowed) and name not in FOREIGN
    }


def _logins(source: Mapping[str, str]) -> frozenset[str]:
    further = _read(source, PROVIDER_CREDENTIALS)
    names = further if isinstance(further, dict) else {}
    offered = _listed(_read(source, OFFERED_ENVIRONMENTS))
    if not offered:
        return frozenset()
    from oddish.environments import login_names  # only here: every command imports this module

    return frozenset(name for place in offered for name in login_names(place, _listed(names.get(place))))


def _read(source: Mapping[str, str], name: str) -> object:
    """The JSON of a setting; None for what is none, and its process says what is wrong with it."""
    try:
        return json.loads(source.get(name, "null"))
    except ValueError:
        return None


def _listed(names: object) -> frozenset[str]:
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
