"""Text from a trial in a form that PostgreSQL stores: no NUL, no lone surrogates. Pure."""

import json
import re
from collections.abc import Mapping
from typing import Any

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u(?:0000|d[89a-f])")
"""What becomes of these in a document that is ASCII, and of some that can be stored."""
REPLACEMENT = "\ufffd"


def storable(value: Any) -> Any:
    """``value``, a JSON document, with every character that cannot be stored replaced, in keys too."""
    if isinstance(value, str):
        return value if value.isascii() and "\0" not in value else _UNSTORABLE.sub(REPLACEMENT, value)
    if isinstance(value, Mapping):
        return {storable(key): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    return value


def storable_json(value: Any) -> str:
    """``storable`` as a document: most hold nothing that it would have to look for."""
    document = json.dumps(value)
    return json.dumps(storable(value)) if _ESCAPED.search(document) else document
