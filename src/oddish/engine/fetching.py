"""Fetching what is new in the logs of a sandbox by one command in it: a script for any POSIX shell, and its answer.

What comes back was written by the agent. It is put below a folder of our own, under names that match what was asked
for, and nowhere else.
"""

import base64
import binascii
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oddish.transcript import Source

DOCUMENT_BYTES = 2 * 1024 * 1024
"""Of a file that is rewritten as a whole; a larger one is not fetched."""
MAX_FILES = 64
MAX_BYTES = 64 * 1024 * 1024
"""Of all files that grow, over the whole run."""
MAX_NAME = 1024

_MARK = re.compile(r"[0-9]{1,18}")

_SCRIPT = r"""
cd {folder} 2>/dev/null || exit 0
left={most}
known() {{ case "$1" in {known} *) echo 0;; esac; }}
grown() {{
    [ -f "$1" ] && [ ! -L "$1" ] && size=$(($(wc -c <"$1"))) || return 0
    from=$(known "$1")
    [ "$size" -ge "$from" ] || from=0
    count=$((size - from))
    [ "$count" -le "$left" ] || count=$left
    [ "$count" -gt 0 ] || return 0
    left=$((left - count))
    echo "+ $from $1"
    tail -c "+$((from + 1))" "$1" | head -c "$count" | base64
    echo .
}}
rewritten() {{
    [ -f "$1" ] && [ ! -L "$1" ] && [ "$(($(wc -c <"$1")))" -le {document} ] || return 0
    sum=$(cksum <"$1")
    sum=${{sum%% *}}
    [ "$sum" != "$(known "$1")" ] || return 0
    echo "= $sum $1"
    head -c {document} "$1" | base64
    echo .
}}
{looks}
"""


@dataclass(frozen=True)
class Fetched:
    """What is new in one file."""

    path: str
    mark: int
    """Where the data begins; of a rewritten file, its checksum."""
    data: bytes
    rewritten: bool


@dataclass
class Mirror:
    """A copy of the logs below ``folder``, of those that match ``sources``."""

    folder: Path
    sources: Sequence[Source]
    _known: dict[str, int] = field(default_factory=dict)
    """How much of a file is here; of a rewritten file, its checksum."""
    _bytes: int = 0

    def script(self, logs: str, most: int) -> str:
        """Tells what is new in the folder ``logs`` of the sandbox, up to ``most`` bytes of the files that grow."""
        known = " ".join(f"{shlex.quote(path)}) echo {mark};;" for path, mark in self._known.items())
        looks = [
            f'for f in {source.glob}; do {"rewritten" if source.rewritten else "grown"} "$f"; done'
            for source in self.sources
        ]
        return _SCRIPT.format(
            folder=shlex.quote(logs), most=most, known=known, document=DOCUMENT_BYTES, looks="\n".join(looks)
        )

    def take(self, answer: str) -> bool:
        """Put what a script answered where it belongs; whether there was anything. Raises OSError."""
        found = False
        for piece in _parsed(answer):
            if self._is_welcome(piece):
                self._put(piece)
                found = True
        return found

    def holds(self, source: Source) -> bool:
        """Whether there is a file of this source."""
        return any(map(source.matches, self._known))

    def _is_welcome(self, piece: Fetched) -> bool:
        asked = any(source.rewritten == piece.rewritten and source.matches(piece.path) for source in self.sources)
        continues = piece.rewritten or piece.mark in (0, self._known.get(piece.path, 0))
        room = piece.path in self._known or len(self._known) < MAX_FILES
        size = 0 if piece.rewritten else len(piece.data)
        return asked and _stays_below(piece.path) and continues and room and self._bytes + size <= MAX_BYTES

    def _put(self, piece: Fetched) -> None:
        file = self.folder / piece.path
        file.parent.mkdir(parents=True, exist_ok=True)
        self._bytes += 0 if piece.rewritten else len(piece.data)
        if not piece.rewritten and piece.mark:
            with file.open("ab") as stream:
                stream.write(piece.data)
        else:
            partial = file.with_name(f"{file.name}.partial")
            partial.write_bytes(piece.data)
            partial.replace(file)
        self._known[piece.path] = piece.mark if piece.rewritten else piece.mark + len(piece.data)


def _stays_below(path: str) -> bool:
    """Whether it is a path of a file in the folder that it is put in."""
    return all(part not in ("", ".", "..") for part in path.split("/")) and "\0" not in path and len(path) <= MAX_NAME


def _parsed(answer: str) -> Iterator[Fetched]:
    """Up to the first line that makes no sense."""
    lines = iter(answer.split("\n"))
    for header in lines:
        sign, _, rest = header.partition(" ")
        mark, _, path = rest.partition(" ")
        if sign not in ("+", "=") or not _MARK.fullmatch(mark):
            return
        encoded: list[str] = []
        for line in lines:
            if line == ".":
                break
            encoded.append(line)
        else:
            return
        try:
            data = base64.b64decode("".join(encoded), validate=True)
        except (binascii.Error, ValueError):
            return
        yield Fetched(path, int(mark), data, rewritten=sign == "=")
