"""Conditional requests: whether the caller has the representation already (RFC 9110, section 13.1.2)."""

import re
from collections.abc import Iterable

_MEMBER = re.compile(r'[ \t,]*(?:W/)?"(?P<tag>[\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?=,|$)')


def has_current(if_none_match: Iterable[str], tag: str) -> bool:
    """Whether lines of ``If-None-Match`` name the entity tag ``tag``, without its quotes, or any by ``*``.

    Weak and strong tags compare equal, as they do for reading. A line is read up to where it is none.
    """
    return any(line.strip() == "*" or tag in _tags(line) for line in if_none_match)


def _tags(line: str) -> list[str]:
    found: list[str] = []
    position = 0
    while member := _MEMBER.match(line, position):
        found.append(member["tag"])
        position = member.end()
    return found
