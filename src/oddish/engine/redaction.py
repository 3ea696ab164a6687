"""Secrets out of text and files: exact values only, so that nothing else is ever changed. No Harbor here."""

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

from oddish.secrecy import SHORTEST_SECRET, is_secret_name

REDACTED = "[REDACTED]"
CHUNK = 1024 * 1024
SAMPLE = 8192


def secret_values(*environments: Mapping[str, str]) -> frozenset[str]:
    """Values of the secret-named variables, leaving out values too short to be replaced safely."""
    return frozenset(
        value
        for environment in environments
        for name, value in environment.items()
        if is_secret_name(name) and len(value) >= SHORTEST_SECRET
    )


class Redactor:
    """Replaces a fixed set of values, also as they appear inside JSON strings; the longest match wins."""

    def __init__(self, secrets: Iterable[str]) -> None:
        usable = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
        forms = usable | {json.dumps(secret)[1:-1] for secret in usable}
        ordered = sorted(forms, key=len, reverse=True)
        self._text = re.compile("|".join(map(re.escape, ordered))) if ordered else None
        encoded = [form.encode() for form in ordered]
        self._bytes = re.compile(b"|".join(map(re.escape, encoded))) if ordered else None
        self._longest = max(map(len, encoded), default=0)

    def text(self, text: str) -> str:
        """``text`` without the secrets."""
        return self._text.sub(REDACTED, text) if self._text else text

    def directory(self, root: Path) -> int:
        """Take the secrets out of text files, names and link targets below ``root``; how many entries changed.

        Symbolic links are not followed. A rewritten file is replaced as a whole, so that a hard link elsewhere keeps
        its content. An entry whose new name is taken gets a number. Raises OSError.
        """
        if self._bytes is None:
            return 0
        changed = 0
        for _, directories, files, directory in os.fwalk(root, topdown=False, follow_symlinks=False):
            for name in files:
                changed += self._file(name, directory)
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

    def _file(self, name: str, directory: int) -> bool:
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
        except OSError:
            return False
        with os.fdopen(descriptor, "rb") as source:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or b"\0" in source.read(SAMPLE):
                return False
            source.seek(0)
            if not self._stream(source, None):
                return False
            source.seek(0)
            temporary = f".{os.getpid()}.redacted"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            copy = os.open(temporary, flags, stat.S_IMODE(status.st_mode), dir_fd=directory)
            with os.fdopen(copy, "wb") as target:
                self._stream(source, target)
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        return True

    def _stream(self, source: BinaryIO, target: BinaryIO | None) -> bool:
        """Copy without the secrets; without a target only say whether there are any."""
        if self._bytes is None:
            return False
        found = False
        pending = b""
        while chunk := source.read(CHUNK):
            pending += chunk
            keep = self._longest - 1 if len(chunk) == CHUNK else 0
            settled = max(len(pending) - keep, 0)
            position = 0
            for match in self._bytes.finditer(pending):
                if match.start() >= settled:
                    break
                if target is None:
                    return True
                found = True
                target.write(pending[position : match.start()] + REDACTED.encode())
                position = match.end()
            settled = max(settled, position)
            if target is not None:
                target.write(pending[position:settled])
            pending = pending[settled:]
        if target is not None:
            target.write(self._bytes.sub(REDACTED.encode(), pending))
        return found or self._bytes.search(pending) is not None
