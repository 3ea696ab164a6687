"""How the JSON of results directories is read: with the standard library, or with something faster that is given."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from types import NoneType

from oddish.documents import Parse

type Plain = dict[str, float | None]
"""Whole numbers count as well."""

_PLAIN = {float, int, NoneType}


@dataclass(frozen=True, slots=True)
class Parser:
    """``plain_lines``: documents of finite numbers and nulls, one for each line. It raises ``ValueError`` of others."""

    parse: Parse
    plain_lines: Callable[[bytes], list[Plain]]


def _plain_lines(block: bytes) -> list[Plain]:
    documents = [json.loads(line, parse_constant=_refuse) for line in block.split(b"\n")]
    if set(map(type, documents)) != {dict} or not set(map(type, chain(*map(dict.values, documents)))) <= _PLAIN:
        raise ValueError("no objects of numbers")
    return documents


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no finite number")


STANDARD = Parser(json.loads, _plain_lines)
