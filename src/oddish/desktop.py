"""The browser of whoever sits at this machine. Standard library only."""

import os
import sys
import webbrowser
from collections.abc import Mapping


def is_there(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a window can be opened. A browser in the terminal is none: it would take it over."""
    if sys.platform == "darwin":
        return "SSH_CONNECTION" not in environ
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def browse(url: str) -> bool:
    """Open ``url`` in a browser; False where none could be."""
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False
