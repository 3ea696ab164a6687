"""The JSON twin of a page: its view model as it is."""

import json
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass


def twin(model: object) -> bytes:
    """A frozen dataclass of plain values as JSON, of its fields and no properties; numbers that JSON lacks are null."""
    return json.dumps(_plain(model), ensure_ascii=False, allow_nan=False).encode()


def _plain(value: object) -> object:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(member) for name, member in value.items()}
    if isinstance(value, Sequence | Set):
        return [_plain(member) for member in value]
    raise TypeError(f"{type(value).__name__} is no plain value: put it into Page.drawn")
