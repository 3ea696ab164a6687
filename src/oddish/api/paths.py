"""Paths of requests as they may be logged: the token of a share link is a credential."""

import re

from oddish.serving.excerpt import excerpt

_SHARED = re.compile("(/public/experiments/)[^/]+")


def loggable(path: str) -> str:
    """``path`` without the token of a share link, and no longer than an excerpt."""
    return excerpt(_SHARED.sub(r"\1…", path))
