"""Kinds of values of filters: how each is read from text and written as text."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from oddish.browsing.flaws import Flaw
from oddish.browsing.limits import LONGEST_NAME, LONGEST_SEARCH, MOST_MINIMUMS, MOST_NAMES
from oddish.browsing.search import check_tag, parse_search
from oddish.browsing.search import format_search as _format_search
from oddish.tasks.characters import flaw

LARGEST = 2**63 - 1
LONGEST_SHOWN = 60
MOST_CALLS = 2**31 - 1
YES, NO = "true", "false"
FLAGS = {YES: True, "1": True, "yes": True, NO: False, "0": False, "no": False}

type Minimums = tuple[tuple[str, int], ...]
"""Names, each with the least count that it shall have."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """How a value is read and written, and what describes it to those who write requests."""

    parse: Callable[[str], Any]
    """Raises ``Flaw``. The text is not empty."""
    format: Callable[[Any], str]
    schema: Mapping[str, Any]
    """As JSON Schema."""
    absent: Any = None
    several: bool = False
    """The values of repeated parameters add up; else a parameter is given once."""
    choices: tuple[str, ...] = ()
    """The only values there are, if they are few."""


def _shown(text: str) -> str:
    """Of a value that is refused, as much as one wants to read again."""
    return repr(text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…")


def words_of(text: str) -> tuple[str, ...]:
    """The words between commas, without spaces around them, each once."""
    found = tuple(dict.fromkeys(word for part in text.split(",") if (word := part.strip())))
    if not found:
        raise Flaw("names nothing", fix="Name it, or leave the filter out.")
    if len(found) > MOST_NAMES:
        raise Flaw(f"names {len(found)} values, at most {MOST_NAMES} are looked for")
    if long := [word for word in found if len(word) > LONGEST_NAME]:
        raise Flaw(f"holds a value of {len(long[0])} characters, at most {LONGEST_NAME} are read")
    return found


def tags_of(text: str) -> tuple[str, ...]:
    """Words that are names of tags, or names and values."""
    found = words_of(text)
    for word in found:
        check_tag(word)
    return found


def models_of(text: str) -> tuple[str, ...]:
    found = words_of(text)
    for word in found:
        if re.search(r"[*?]", word) or word.strip("/") != word:
            raise Flaw(f"names {_shown(word)}, which is no model", fix="Name it whole, or all but its provider.")
    return found


def agent_models_of(text: str) -> tuple[str, ...]:
    found = words_of(text)
    for word in found:
        if ":" not in word:
            raise Flaw(f"names {_shown(word)}, which has no colon", fix="Write AGENT:MODEL.")
    return found


def choices_of(*allowed: str) -> Kind:
    def parse(text: str) -> tuple[str, ...]:
        found = words_of(text)
        if unknown := [word for word in found if word not in allowed]:
            raise Flaw(f"names {_shown(unknown[0])}", fix=f"There are {', '.join(allowed)}.")
        return found

    pattern = "|".join(allowed)
    return Kind(
        parse,
        ",".join,
        {"type": "string", "pattern": f"^({pattern})(,({pattern}))*$"},
        (),
        several=True,
        choices=allowed,
    )


def choice_of(*allowed: str) -> Kind:
    def parse(text: str) -> str:
        if text not in allowed:
            raise Flaw(f"is {_shown(text)}", fix=f"There are {', '.join(allowed)}.")
        return text

    return Kind(parse, str, {"type": "string", "enum": list(allowed)}, choices=allowed)


def whole_of(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > len(str(LARGEST)) or int(text) > LARGEST:
        raise Flaw(f"is {_shown(text)}", fix=f"It is a whole number from 0 to {LARGEST}.")
    return int(text)


def number_of(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Flaw(f"is {_shown(text)}", fix="It is a number, such as 0.5.")
    return number


def _written(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def flag_of(text: str) -> bool:
    flag = FLAGS.get(text.lower())
    if flag is None:
        raise Flaw(f"is {_shown(text)}", fix=f"It is {YES} or {NO}.")
    return flag


def moment_of(text: str) -> datetime:
    """A day is its beginning, and a time without an offset is UTC."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Flaw(
            f"is {_shown(text)}", fix="It is a day or a time, such as 2026-01-31 or 2026-01-31T12:00:00Z."
        ) from None


def minimums_of(text: str) -> Minimums:
    fix = 'It is a JSON object of names and counts from 1 on, such as {"bash": 5}.'
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise Flaw(f"is {_shown(text)}", fix=fix) from None
    if not isinstance(document, dict):
        raise Flaw("is no object", fix=fix)
    if len(document) > MOST_MINIMUMS:
        raise Flaw(f"names {len(document)} minimums, at most {MOST_MINIMUMS} are looked at")
    for name, count in document.items():
        if not name or len(name) > LONGEST_NAME:
            raise Flaw(f"has a name of {len(name)} characters", fix=f"Names have 1 to {LONGEST_NAME}.")
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_CALLS:
            raise Flaw(f"says {_shown(json.dumps(count))} of {_shown(name)}", fix=fix)
        if reason := flaw(name):
            raise Flaw(f"names a tool that {reason}", fix=fix)
    return tuple(sorted(document.items()))


def format_minimums(minimums: Minimums) -> str:
    return json.dumps(dict(minimums), ensure_ascii=False)


SEVERAL = {"type": "string", "description": "Several between commas."}
WORD = Kind(lambda text: _one(words_of(text)), str, {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME})
WORDS = Kind(words_of, ",".join, SEVERAL, (), several=True)
TAGS = Kind(tags_of, ",".join, SEVERAL, (), several=True)
MODELS = Kind(models_of, ",".join, SEVERAL, (), several=True)
AGENT_MODELS = Kind(agent_models_of, ",".join, SEVERAL | {"pattern": "^[^,]*:[^,]*(,[^,]*:[^,]*)*$"}, (), several=True)
WHOLE = Kind(whole_of, str, {"type": "integer", "minimum": 0, "maximum": LARGEST})
NUMBER = Kind(number_of, _written, {"type": "number"})
FLAG = Kind(flag_of, lambda flag: YES if flag else NO, {"type": "boolean"})
MOMENT = Kind(moment_of, lambda moment: str(moment.isoformat()), {"type": "string", "format": "date-time"})
MINIMUMS = Kind(minimums_of, format_minimums, {"type": "string", "pattern": r'^\{"[a-z]+": [1-9]\}$'}, ())
SEARCH = Kind(parse_search, _format_search, {"type": "string", "maxLength": LONGEST_SEARCH})


def _one(words: Sequence[str]) -> str:
    if len(words) != 1:
        raise Flaw(f"names {len(words)} values", fix="Name one.")
    return words[0]
