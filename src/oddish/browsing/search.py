"""The words of a search: ``django "slow query" -flaky tag:web OR author:ann``.

Needles side by side all have to match, ``OR`` separates alternatives, ``-`` or ``NOT`` before a needle turns it round.
``"..."`` holds what has spaces, or what would mean something else.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from oddish.browsing.flaws import Flaw
from oddish.browsing.limits import LONGEST_SEARCH, MOST_NEEDLES
from oddish.tags import name_flaw, value_flaw

type Place = Literal["any", "tag", "author"]
"""Where a needle is looked for; ``any`` is the name, the author and the tags."""

PLACES: dict[str, Place] = {"tag": "tag", "author": "author", "github": "author", "user": "author"}
OPERATORS = ("AND", "OR", "NOT")
QUOTE = '"'
LITERALLY = 'Put what is to be found as it is in quotes: "{}".'

_WORD = re.compile(r'[^\s"]+')
_PLACED = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):(.*)", re.DOTALL)
_BEFORE_A_QUOTE = re.compile(r"-?(?:[A-Za-z_][A-Za-z0-9_-]*:)?")
_PLAIN = re.compile(r'[^\s":-][^\s":]*')


@dataclass(frozen=True, slots=True)
class Needle:
    """One thing to find, or not to find. ``text`` is not empty and holds no quote."""

    text: str
    place: Place = "any"
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class Search:
    """Alternatives; of one of them every needle has to match."""

    alternatives: tuple[tuple[Needle, ...], ...]

    @property
    def needles(self) -> Iterator[Needle]:
        for alternative in self.alternatives:
            yield from alternative


def parse_search(text: str) -> Search | None:
    """What ``text`` asks for; None when it is blank. Raises ``Flaw`` naming the part that cannot be understood."""
    if len(text) > LONGEST_SEARCH:
        raise Flaw(f"has {len(text)} characters, at most {LONGEST_SEARCH} are read", fix="Search for less at once.")
    alternatives: list[list[Needle]] = [[]]
    negated = ""
    for part in _parts(text):
        if part == "OR":
            if negated or not alternatives[-1]:
                raise Flaw(f"has OR {'after NOT' if negated else 'with nothing before it'}", fix=_literally(part))
            alternatives.append([])
        elif part == "AND":
            raise Flaw("has AND, which is what words side by side mean anyway", fix=f"Leave it out. {_literally(part)}")
        elif part == "NOT":
            if negated:
                raise Flaw(f"has NOT after {negated}", fix="Negate a word once.")
            negated = "NOT"
        else:
            needle = _needle(part)
            if negated and not needle.wanted:
                raise Flaw(f"has {part} after {negated}", fix="Negate a word once.")
            alternatives[-1].append(Needle(needle.text, needle.place, needle.wanted and not negated))
            negated = ""
    if negated or (not alternatives[-1] and len(alternatives) > 1):
        raise Flaw(f"ends with {negated or 'OR'}", fix=_literally(negated or "OR"))
    search = Search(tuple(map(tuple, alternatives)))
    if (count := sum(1 for _ in search.needles)) > MOST_NEEDLES:
        raise Flaw(f"has {count} words, at most {MOST_NEEDLES} are looked for", fix="Search for less at once.")
    return search if count else None


def format_search(search: Search) -> str:
    """The text that ``parse_search`` reads as ``search``."""
    return " OR ".join(" ".join(map(_written, alternative)) for alternative in search.alternatives)


def _parts(text: str) -> Iterator[str]:
    """Words, quoted phrases with their quotes, and what stands before such a phrase together with it."""
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        word = _WORD.match(text, position)
        end = word.end() if word else position
        if end < len(text) and text[end] == QUOTE:
            prefix = text[position:end]
            if not _BEFORE_A_QUOTE.fullmatch(prefix):
                raise Flaw(f"has a quote in the middle of {prefix}{QUOTE}", fix="Begin a phrase with its quote.")
            closing = text.find(QUOTE, end + 1)
            if closing < 0:
                raise Flaw(f"has a quote that is not closed: {text[end:]}", fix="Close it.")
            end = closing + 1
            if end < len(text) and not text[end].isspace():
                raise Flaw(f"goes on after the quote of {text[position:end]}", fix="Put a space there.")
        yield text[position:end]
        position = end


def _needle(part: str) -> Needle:
    wanted = not part.startswith("-")
    rest = part if wanted else part[1:]
    if rest.startswith("-"):
        raise Flaw(f"has {part}, negated more than once", fix=_literally(part))
    place: Place = "any"
    if not rest.startswith(QUOTE) and (placed := _PLACED.fullmatch(rest)):
        name, rest = placed.groups()
        if name.lower() not in PLACES:
            raise Flaw(f"looks in {name}:, and there is {_places()} only", fix=_literally(part.replace(QUOTE, "")))
        place = PLACES[name.lower()]
    text = rest[1:-1] if rest.startswith(QUOTE) else rest
    if not text.strip():
        raise Flaw(f"has nothing to find in {part}", fix=f"Name it, or leave out {part}.")
    if place == "tag":
        check_tag(text)
    return Needle(text, place, wanted)


def check_tag(text: str) -> None:
    """Raises ``Flaw`` for what no task carries."""
    name, _, value = text.partition("=")
    if reason := name_flaw(name) or value_flaw(value):
        raise Flaw(f"names {text!r}, which is no tag: {reason}", fix="Tags are NAME or NAME=VALUE.")


def _written(needle: Needle) -> str:
    plain = _PLAIN.fullmatch(needle.text) and needle.text not in OPERATORS
    text = needle.text if plain else f"{QUOTE}{needle.text}{QUOTE}"
    return f"{'' if needle.wanted else '-'}{'' if needle.place == 'any' else f'{needle.place}:'}{text}"


def _places() -> str:
    names = [f"{name}:" for name in PLACES]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _literally(text: str) -> str:
    return LITERALLY.format(text)
