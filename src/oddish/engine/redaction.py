"""Secrets out of text and files: exact values only, so that nothing else is ever changed. No Harbor here."""

import base64
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, quote_plus

from oddish.secrecy import SHORTEST_SECRET, is_secret

REDACTED = "[REDACTED]"
CHUNK = 1024 * 1024
SAMPLE = 8192


def secret_values(*environments: Mapping[str, str]) -> frozenset[str]:
    """Values of the secret variables, leaving out values too short to be replaced safely."""
    return frozenset(
        value
        for environment in environments
        for name, value in environment.items()
        if is_secret(name, value) and len(value) >= SHORTEST_SECRET
    )


type _Replacement = Callable[[re.Match[bytes]], bytes]


def _replaced(_: re.Match[bytes]) -> bytes:
    return REDACTED.encode()


def _overwritten(match: re.Match[bytes]) -> bytes:
    return b"*" * len(match[0])


def line_by_line(secrets: Iterable[str]) -> frozenset[str]:
    """``secrets`` and the lines of those that have several, for text that is looked at line by line."""
    return frozenset(part for secret in secrets for part in (secret, *map(str.strip, secret.splitlines())))


def _forms(secret: str) -> Iterator[str]:
    """As it is, and as it appears in JSON, in an address, and in Base64, whatever stands before and behind it there.

    Programs call tools with JSON within JSON. Harbor shows the ends of a secret variable in its records, which is too
    much of a short one.
    """
    yield secret
    yield from (
        json.dumps(f"{secret[:4]}****{secret[-3:]}", ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)
    )
    for ascii_only in (True, False):
        quoted = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield quoted
        yield json.dumps(quoted, ensure_ascii=ascii_only)[1:-1]
    yield quote(secret, safe="")
    yield quote(secret)
    yield quote_plus(secret)
    content = secret.encode()
    for before, shared in ((0, 0), (1, 2), (2, 3)):
        # Of the last characters only those that hold nothing of what may follow.
        last = (before + len(content)) * 8 // 6
        yield base64.b64encode(bytes(before) + content).decode()[shared:last]
        yield base64.urlsafe_b64encode(bytes(before) + content).decode()[shared:last]


class Redactor:
    """Replaces a fixed set of values, also in the usual encodings (see ``_forms``); the longest match wins."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # Programs that read a value from a file or a variable leave out the space around it.
        values = {value for secret in secrets for value in (secret, secret.strip()) if len(value) >= SHORTEST_SECRET}
        forms = {form for value in values for form in _forms(value)}
        ordered = sorted(forms, key=len, reverse=True)
        self._forms = ordered
        self._text = re.compile("|".join(map(re.escape, ordered)))
        self._encoded = [form.encode() for form in ordered]
        self._bytes = re.compile(b"|".join(map(re.escape, self._encoded)))
        self._longest = max(map(len, self._encoded), default=0)

    def text(self, text: str) -> str:
        """``text`` without the secrets."""
        # Plain searches are many times faster than the one expression, and mostly find nothing.
        return self._text.sub(REDACTED, text) if any(form in text for form in self._forms) else text

    def directory(self, root: Path, *, largest: int = 2**63) -> int:
        """Take the secrets out of files, names and link targets below ``root``; how many entries changed.

        In files that are no text they are overwritten, so that everything else stays in its place.
        Symbolic links are not followed. A rewritten file is replaced as a whole, so that a hard link elsewhere keeps
        its content. An entry whose new name is taken gets a number. Files of more than ``largest`` bytes, which nobody
        may keep, are not read: a sparse one would take for ever. Raises OSError.
        """
        if not self._forms:
            return 0
        changed = 0
        for _, directories, files, directory in os.fwalk(root, topdown=False, follow_symlinks=False):
            for name in files:
                changed += self._file(name, directory, largest)
            for name in (*files, *directories):
                changed += self._target(name, directory) or self._name(name, directory)
        return changed

    def _name(self, name: str, directory: int) -> bool:
        clean = self.text(name)
        if clean == name:
            return False
        taken, number = set(os.listdir(directory)), 1
        while (free := clean if number == 1 else f"{clean}.{number}") in taken:
            number += 1
        os.rename(name, free, src_dir_fd=directory, dst_dir_fd=directory)
        return True

    def _target(self, name: str, directory: int) -> bool:
        """Point a link whose target holds a secret nowhere, under its clean name."""
        try:
            target = os.readlink(name, dir_fd=directory)
        except OSError:
            return False
        clean = self.text(target)
        if clean == target:
            return False
        os.unlink(name, dir_fd=directory)
        os.symlink(clean, name, dir_fd=directory)
        self._name(name, directory)
        return True

    def _file(self, name: str, directory: int, largest: int) -> bool:
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
        except OSError:
            return False
        with os.fdopen(descriptor, "rb") as source:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > largest:
                return False
            replacement = _overwritten if b"\0" in source.read(SAMPLE) else _replaced
            source.seek(0)
            if not self._holds_any(source):
                return False
            source.seek(0)
            temporary = f".{os.getpid()}.redacted"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            copy = os.open(temporary, flags, stat.S_IMODE(status.st_mode), dir_fd=directory)
            with os.fdopen(copy, "wb") as target:
                self._replace(source, target, replacement)
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        return True

    def _holds_any(self, source: BinaryIO) -> bool:
        """By plain searches, as in ``text``."""
        kept = b""
        while chunk := source.read(CHUNK):
            pending = kept + chunk
            if any(form in pending for form in self._encoded):
                return True
            kept = pending[max(len(pending) - self._longest + 1, 0) :]
        return False

    def _replace(self, source: BinaryIO, target: BinaryIO, by: _Replacement) -> None:
        pending = b""
        while chunk := source.read(CHUNK):
            pending += chunk
            keep = self._longest - 1 if len(chunk) == CHUNK else 0
            settled = max(len(pending) - keep, 0)
            position = 0
            for match in self._bytes.finditer(pending):
                if match.start() >= settled:
                    break
                target.write(pending[position : match.start()] + by(match))
                position = match.end()
            settled = max(settled, position)
            target.write(pending[position:settled])
            pending = pending[settled:]
        target.write(self._bytes.sub(by, pending))
