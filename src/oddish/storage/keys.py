"""Object keys: relative paths of printable text with "/" between segments."""

import re

from oddish.storage.errors import InvalidKey

MAX_KEY_BYTES = 1024
MAX_SEGMENT_BYTES = 255
STAGING = ".staging"
"""First segment that holds unfinished writes; no key starts with it."""

_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]")
_RESERVED_NAME = re.compile(r"#\d+$")
_QUOTED = re.compile(r"[\x00-\x1f\x7f\\%#]")


def checked_key(key: str) -> str:
    """``key`` itself. Raises ``InvalidKey`` naming what is wrong with it."""
    reason = _fault(key)
    if reason is not None:
        raise InvalidKey(f"The object key {key[:200]!a} {reason}.")
    return key


def artifact_key(prefix: str, path: str) -> str:
    """The key of the file at ``path`` (relative, with "/") of a tree stored under ``prefix``.

    Characters that no key may hold, and "#" and "%", are percent-encoded, so that different paths keep different keys.
    """
    quoted = _QUOTED.sub(lambda match: f"%{ord(match[0]):02X}", path)
    return checked_key(f"{prefix.rstrip('/')}/{quoted}")


def _fault(key: str) -> str | None:
    try:
        encoded = key.encode()
    except UnicodeEncodeError:
        return "is not valid text"
    segments = key.split("/")
    if not key or "" in segments:
        return "has an empty segment"
    if "." in segments or ".." in segments:
        return 'has a "." or ".." segment'
    if segments[0] == STAGING:
        return f'starts with "{STAGING}", which is reserved'
    if _UNSAFE.search(key):
        return "has a backslash or a control character"
    if _RESERVED_NAME.search(key):
        return 'ends in "#" and digits, which is reserved'
    if len(encoded) > MAX_KEY_BYTES:
        return f"is longer than {MAX_KEY_BYTES} bytes"
    if any(len(segment.encode()) > MAX_SEGMENT_BYTES for segment in segments):
        return f"has a segment longer than {MAX_SEGMENT_BYTES} bytes"
    return None
