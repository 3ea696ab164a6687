"""Files of variables, one NAME=value a line, as shells and containers read them."""

import re
from pathlib import Path

from oddish.errors import InvalidInput
from oddish.tasks.characters import flaw

LARGEST = 1024 * 1024

_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<rest>.*)")
_LINE_END = re.compile(r"\r\n?|\n")
_SINGLE = re.compile(r"'(?P<text>[^']*)'\s*(?:#.*)?")
_DOUBLE = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"\s*(?:#.*)?')
_COMMENT = re.compile(r"\s+#.*")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def read_env_file(path: Path) -> dict[str, str]:
    """The variables of ``path``. Nothing is expanded: ``$`` stands for itself. A later line wins.

    Raises ``InvalidInput`` naming the line, and nothing of what it holds.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text (byte {error.start}).", fix="Save it as UTF-8.") from None
    if len(content) > LARGEST:
        raise InvalidInput(f"{path} is larger than {LARGEST} bytes, too large for a file of variables.")
    variables: dict[str, str] = {}
    for number, line in enumerate(_LINE_END.split(text), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        value = _value(match["rest"]) if match else None
        if match is None or value is None or flaw(value):
            raise InvalidInput(f"Line {number} of {path} is not NAME=value.", fix="Correct it, or put # before it.")
        variables[match["name"]] = value
    return variables


def _value(rest: str) -> str | None:
    """None when a quote is not closed, or something follows it."""
    if rest.startswith("'"):
        single = _SINGLE.fullmatch(rest)
        return single["text"] if single else None
    if rest.startswith('"'):
        double = _DOUBLE.fullmatch(rest)
        unescaped = re.compile(r"\\(.)")
        return unescaped.sub(lambda found: _ESCAPES.get(found[1], found[1]), double["text"]) if double else None
    return _COMMENT.sub("", f" {rest}").strip()
