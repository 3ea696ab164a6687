"""The key of the local stack. Standard library only: the command line imports it."""

import os
import re

from oddish.errors import Unavailable
from oddish.home import write_atomically
from oddish.stack.layout import Layout

_FORM = re.compile(r"ok_[0-9a-f]{32}")


def read_token(layout: Layout) -> str | None:
    try:
        text = layout.token.read_text().strip()
    except FileNotFoundError:
        return None
    if _FORM.fullmatch(text) is None:
        raise Unavailable(
            f"{layout.token} does not hold a key.", fix="Remove it, then run 'oddish down' and the command again."
        )
    return text


def create_token(layout: Layout) -> str:
    """The key, made on first use and never changed; two processes at once get the same one."""
    if (known := read_token(layout)) is None:
        write_atomically(layout.token, f"ok_{os.urandom(16).hex()}\n".encode(), replace=False)
        known = read_token(layout)
    if known is None:
        raise Unavailable(f"{layout.token} vanished while it was being made.", fix="Run the command again.")
    return known
