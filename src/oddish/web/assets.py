"""Styles, modules and pictures of pages, under addresses that change with their content."""

import hashlib
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from oddish.errors import NotFound

ROUTE: Final = "/assets/{version}/{name}"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOREVER = "public, max-age=31536000, immutable"
_NOT_KEPT = "no-store"

_FILES = {path.name: path.read_bytes() for path in sorted(Path(__file__).with_name("static").iterdir())}
VERSION: Final = hashlib.sha256(b"".join(name.encode() + b"\0" + body for name, body in _FILES.items())).hexdigest()[
    :16
]
"""One for all files, so that modules import one another by their plain names."""


def address(name: str) -> str:
    """Where the file is served. Raises ``KeyError`` where there is no such file."""
    if name not in _FILES:
        raise KeyError(name)
    return f"/assets/{VERSION}/{name}"


async def asset(request: Request) -> Response:
    """A style sheet, a module or a picture of a page.

    Another version is answered with today's, which may not be kept: while one release replaces another, both run.
    """
    name, version = request.path_params["name"], request.path_params["version"]
    if name not in _FILES:
        raise NotFound(f"There is no asset {name!r} here.")
    kept = _FOREVER if version == VERSION else _NOT_KEPT
    return Response(_FILES[name], media_type=_TYPES[Path(name).suffix], headers={"Cache-Control": kept})
