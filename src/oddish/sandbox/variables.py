"""Words and variables in Dockerfile values: ``$NAME``, ``${NAME:-default}``, ``${NAME:+other}``, quotes, escapes."""

import re
from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-+])((?:[^{}]|\{[^{}]*\})*))?\}")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace variables everywhere; ``\\$`` stands for a dollar sign. Quotes stay."""
    result = []
    position = 0
    while position < len(text):
        character = text[position]
        if character == "\\" and text[position + 1 : position + 2] == "$":
            result.append("$")
            position += 2
        elif character == "$" and (replaced := _variable(text, position + 1, variables)):
            result.append(replaced[0])
            position = replaced[1]
        else:
            result.append(character)
            position += 1
    return "".join(result)


def _variable(text: str, position: int, variables: Mapping[str, str]) -> tuple[str, int] | None:
    if match := _BRACED.match(text, position):
        name, operator, word = match[1], match[2] or "", match[3] or ""
        value = variables.get(name)
        is_set = bool(value) if operator.startswith(":") else value is not None
        if operator.endswith("-") and not is_set:
            return expand(word, variables), match.end()
        if operator.endswith("+"):
            return expand(word, variables) if is_set else "", match.end()
        return value or "", match.end()
    if match := _NAME.match(text, position):
        return variables.get(match[0], ""), match.end()
    return None


def words(text: str, variables: Mapping[str, str]) -> list[str]:
    """Split at blanks outside quotes; quotes and escapes are removed, variables expanded outside single quotes."""
    result: list[str] = []
    current: list[str] = []
    started = False
    quote = ""
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if quote != "'" and character == "\\" and position < len(text):
            following = text[position]
            position += 1
            current.append(following if not quote or following in '"\\$' else character + following)
            started = True
        elif quote:
            if character == quote:
                quote = ""
            elif character == "$" and quote == '"' and (replaced := _variable(text, position, variables)):
                current.append(replaced[0])
                position = replaced[1]
            else:
                current.append(character)
        elif character in "'\"":
            quote, started = character, True
        elif character.isspace():
            if started:
                result.append("".join(current))
            current, started = [], False
        elif character == "$" and (replaced := _variable(text, position, variables)):
            current.append(replaced[0])
            position, started = replaced[1], True
        else:
            current.append(character)
            started = True
    if started:
        result.append("".join(current))
    return result
