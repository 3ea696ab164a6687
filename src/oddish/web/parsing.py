"""JSON of large files, read in a quarter of the time that the standard library takes."""

import json
from typing import Any

import msgspec

from oddish.viewer.parsing import Parser

_PLAIN_LINES = msgspec.json.Decoder(dict[str, float | None])


def parse(content: bytes) -> Any:
    """What ``json.loads`` makes of it, or raises: that is asked where the fast parser, which is stricter, says no."""
    try:
        return msgspec.json.decode(content)
    except ValueError:
        return json.loads(content)


FAST = Parser(parse, _PLAIN_LINES.decode_lines)
