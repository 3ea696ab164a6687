"""Which releases of Harbor our own parts extend; any other runs its own."""

import importlib.metadata

WRITTEN_FOR = "0.26."


def is_extended() -> bool:
    """Whether this process's Harbor is one of those."""
    return importlib.metadata.version("harbor").startswith(WRITTEN_FOR)
