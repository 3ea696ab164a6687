"""Names that come from elsewhere, as names of files here. Pure."""

import hashlib
import unicodedata
from collections.abc import Iterable

MAX_NAME_BYTES = 255
MAX_DEPTH = 100
_MARK = 12

type Parts = tuple[str, ...]


class UnsafeName(ValueError):
    """A path that does not stay where it belongs, or names no file."""


def parts_of(path: str) -> Parts:
    """The names of a relative path with "/", each one that file systems can hold.

    A name that is too long is shortened, with a mark that tells it from others. Raises ``UnsafeName`` with the reason.
    """
    parts = tuple(path.split("/"))
    if len(parts) > MAX_DEPTH:
        raise UnsafeName(f"has more than {MAX_DEPTH} levels")
    return tuple(_holdable(part) for part in parts)


def single(name: str) -> str:
    """``name`` itself as the name of one file. Raises ``UnsafeName``."""
    parts = parts_of(name)
    if len(parts) != 1:
        raise UnsafeName("has a slash")
    return parts[0]


def marked(name: str, source: str) -> str:
    """``name`` with a mark made of ``source``, cut where it would be too long."""
    mark = f"~{hashlib.sha256(source.encode('utf-8', 'surrogatepass')).hexdigest()[:_MARK]}"
    room = MAX_NAME_BYTES - len(mark)
    return name.encode()[:room].decode(errors="ignore") + mark


def local_paths(paths: Iterable[str], *, folds_case: bool) -> dict[str, Parts | UnsafeName]:
    """Where each of the paths of one tree is written, or why it is not.

    With ``folds_case``, of paths that the file system takes for the same one all but the first are marked.
    """
    found: dict[str, Parts | UnsafeName] = {}
    taken: set[Parts] = set()
    for path in dict.fromkeys(paths):
        try:
            parts = parts_of(path)
        except UnsafeName as error:
            found[path] = error
            continue
        if (folded := _folded(parts, folds_case)) in taken:
            parts = (*parts[:-1], marked(parts[-1], path))
            folded = _folded(parts, folds_case)
        taken.add(folded)
        found[path] = parts
    return found


def _holdable(name: str) -> str:
    if name in ("", ".", ".."):
        raise UnsafeName(f'has the name "{name}" in it')
    if "\0" in name:
        raise UnsafeName("has a NUL character in it")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise UnsafeName("is no valid text") from None
    return name if size <= MAX_NAME_BYTES else marked(name, name)


def _folded(parts: Parts, folds_case: bool) -> Parts:
    if not folds_case:
        return parts
    return tuple(unicodedata.normalize("NFC", part).casefold() for part in parts)
