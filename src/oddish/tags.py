"""Tags of tasks: names, each with a value or without. Standard library only: the command line imports it.

People write ``NAME`` or ``NAME=VALUE``, everywhere. A task has each name at most once; as JSON and in the database its
tags are one object from names to values, where an empty value is none.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from oddish.errors import InvalidInput
from oddish.tasks.characters import flaw

LONGEST_NAME = 64
LONGEST_VALUE = 255
MOST_TAGS = 50
"""Of one task."""
NAME_PATTERN = rf"^\w[\w.:/@+-]{{0,{LONGEST_NAME - 1}}}$"
SIGNS = "letters, digits and _ . : / @ + -"

_NAME = re.compile(NAME_PATTERN)
_SHOWN = 80


class InvalidTag(InvalidInput):
    """A tag that no task can have."""

    code = "invalid_tag"


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of a task or, without a value, what is looked for: the name with any value."""

    name: str
    value: str = ""

    @classmethod
    def of(cls, text: str) -> "Tag":
        """``NAME`` or ``NAME=VALUE``. Raises ``InvalidTag``."""
        name, _, value = text.partition("=")
        if reason := name_flaw(name) or value_flaw(value):
            raise InvalidTag(f"{_shown(text)} is no tag: {reason}.", fix=f"Write NAME or NAME=VALUE; NAME has {SIGNS}.")
        return cls(name, value)

    def __str__(self) -> str:
        return f"{self.name}={self.value}" if self.value else self.name


def name_flaw(name: str) -> str | None:
    """Why no tag has this name."""
    if not name:
        return "it has no name"
    if len(name) > LONGEST_NAME:
        return f"its name is longer than {LONGEST_NAME} characters"
    if not _NAME.match(name) or name.endswith("\n"):
        return f"the name {_shown(name)} has other signs than {SIGNS}, or begins with another than a letter or digit"
    return None


def value_flaw(value: str) -> str | None:
    """Why no tag has this value."""
    if len(value) > LONGEST_VALUE:
        return f"its value is longer than {LONGEST_VALUE} characters"
    reason = flaw(value)
    return None if reason is None else f"its value {reason}"


def as_object(tags: Iterable[Tag]) -> dict[str, str]:
    """Values by name. Raises ``InvalidTag`` for a name with two values."""
    values: dict[str, str] = {}
    for tag in tags:
        if values.setdefault(tag.name, tag.value) != tag.value:
            raise InvalidTag(
                f"The tag {tag.name} is given the values {values[tag.name]!r} and {tag.value!r}.",
                fix="A task has one value of each tag: give one of them.",
            )
    return values


def too_many(count: int) -> str | None:
    """Why a task does not have so many."""
    return f"a task has at most {MOST_TAGS} tags, and these are {count}" if count > MOST_TAGS else None


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
