"""Words and variables in Dockerfile values: ``$NAME``, ``${NAME:-default}``, ``${NAME%.*}``, quotes, escapes.

Raises ``BadSubstitution`` for what no engine reads, and for values that no command could be given.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r":?[-+?]|##?|%%?")
_DEEPEST = 20
_LONGEST_PATTERN = 100
MAX_LENGTH = 128 * 1024
"""Characters of a value; the kernel passes no longer one to a command."""


class BadSubstitution(ValueError):
    """Its text says what is wrong, after the text that it is wrong with."""


def expand(text: str, variables: Mapping[str, str], escape: str = "\\") -> str:
    """Replace variables everywhere; an escaped dollar sign stands for itself. Quotes stay."""
    return _Reader(text, variables, escape).raw()


def word(text: str, variables: Mapping[str, str], escape: str = "\\") -> str:
    """One value: quotes and escapes are removed, variables replaced outside single quotes; blanks stay."""
    return "".join(_Reader(text, variables, escape).words(split=False))


def words(text: str, variables: Mapping[str, str], escape: str = "\\") -> list[str]:
    """As ``word``, split at blanks outside quotes. The value of a variable is not split."""
    return _Reader(text, variables, escape).words(split=True)


def raw_words(text: str, escape: str = "\\") -> list[str]:
    """Split at blanks outside quotes; everything else stays as it is."""
    result: list[str] = []
    current, quote = "", ""
    position = 0
    while position < len(text):
        character = text[position]
        if character == escape and quote != "'":
            character = text[position : position + 2]
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character.isspace():
            result += [current] if current else []
            current = ""
            position += 1
            continue
        current += character
        position += len(character)
    return result + ([current] if current else [])


@dataclass(slots=True)
class _Reader:
    text: str
    variables: Mapping[str, str]
    escape: str
    depth: int = 0
    position: int = 0
    length: int = 0

    def raw(self) -> str:
        result = []
        while self.position < len(self.text):
            if self.text.startswith(f"{self.escape}$", self.position):
                self.position += 2
                result.append(self._counted("$"))
            else:
                result.append(self._next())
        return "".join(result)

    def words(self, *, split: bool) -> list[str]:
        result: list[str] = []
        current: list[str] = []
        quote = ""
        while self.position < len(self.text):
            character = self.text[self.position]
            if character == self.escape and quote != "'" and self.position + 1 < len(self.text):
                following = self.text[self.position + 1]
                self.position += 2
                kept = quote and following not in ('"', "$", self.escape)
                current.append(character + following if kept else following)
            elif character == quote or (not quote and character in "'\""):
                quote = "" if quote else character
                self.position += 1
                current.append("")
            elif split and not quote and character.isspace():
                self.position += 1
                result += ["".join(current)] if current else []
                current = []
            elif quote == "'":
                self.position += 1
                current.append(character)
            else:
                current.append(self._next())
        return result + (["".join(current)] if current else [])

    def _counted(self, value: str) -> str:
        self.length += len(value)
        if self.length > MAX_LENGTH:
            raise BadSubstitution(f"a value grows beyond {MAX_LENGTH} characters")
        return value

    def _next(self) -> str:
        """The value of the variable that begins here, or one character."""
        match = _NAME.match(self.text, self.position + 1)
        if self.text[self.position] == "$" and match:
            self.position = match.end()
            return self._counted(self.variables.get(match[0], ""))
        if self.text.startswith("${", self.position):
            return self._counted(self._braced())
        self.position += 1
        return self._counted(self.text[self.position - 1])

    def _braced(self) -> str:
        start = self.position
        end = self._closing_brace(start + 2)
        shown = self.text[start : end + 1]
        self.position = end + 1
        name = _NAME.match(self.text, start + 2)
        if name is None:
            raise BadSubstitution(f"{shown} names no variable")
        if name.end() == end:
            return self.variables.get(name[0], "")
        operator = _OPERATOR.match(self.text, name.end())
        if operator is None:
            raise BadSubstitution(f"{shown} has an unknown modifier")
        return self._modified(name[0], operator[0], self.text[operator.end() : end])

    def _closing_brace(self, position: int) -> int:
        level = 1
        while position < len(self.text):
            character = self.text[position]
            if character == self.escape:
                position += 1
            elif self.text.startswith("${", position):
                level += 1
                position += 1
            elif character == "}":
                level -= 1
                if level == 0:
                    return position
            position += 1
        raise BadSubstitution(f"{self.text[self.position :]} has no closing brace")

    def _modified(self, name: str, operator: str, operand: str) -> str:
        value = self.variables.get(name)
        if operator[-1] in "-+?":
            is_set = bool(value) if operator[0] == ":" else value is not None
            if operator[-1] == "?" and not is_set:
                raise BadSubstitution(f"{name}: {self._nested(operand) or 'is not set'}")
            wanted = is_set if operator[-1] == "+" else not is_set
            return self._nested(operand) if wanted else ("" if operator[-1] == "+" else value or "")
        pattern = self._nested(operand)
        if len(pattern) > _LONGEST_PATTERN:
            raise BadSubstitution(f"the pattern {pattern[:_LONGEST_PATTERN]}... is too long")
        return _trimmed(value or "", operator, pattern)

    def _nested(self, text: str) -> str:
        if self.depth == _DEEPEST:
            raise BadSubstitution(f"{text} is nested too deeply")
        inner = _Reader(text, self.variables, self.escape, self.depth + 1)
        return "".join(inner.words(split=False))


def _trimmed(value: str, operator: str, pattern: str) -> str:
    """``value`` without the shortest (one sign) or longest (two) part that matches, at its start or its end."""
    backwards = operator[0] == "%"
    lengths = _matching_lengths(value[::-1], pattern[::-1]) if backwards else _matching_lengths(value, pattern)
    if not lengths:
        return value
    cut = lengths[0] if len(operator) == 1 else lengths[-1]
    return value[: len(value) - cut] if backwards else value[cut:]


def _matching_lengths(value: str, pattern: str) -> list[int]:
    """Lengths of the prefixes of ``value`` that ``pattern`` (``*``, ``?``) matches, in time linear in both."""
    found = []
    states = _beyond_stars({0}, pattern)
    for length in range(len(value) + 1):
        if len(pattern) in states:
            found.append(length)
        if length == len(value) or not states:
            break
        after = {
            state if pattern[state] == "*" else state + 1
            for state in states
            if state < len(pattern) and pattern[state] in ("*", "?", value[length])
        }
        states = _beyond_stars(after, pattern)
    return found


def _beyond_stars(states: set[int], pattern: str) -> set[int]:
    reached = set(states)
    for state in states:
        while state < len(pattern) and pattern[state] == "*":
            state += 1
            reached.add(state)
    return reached
