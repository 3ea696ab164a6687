"""How a run names another Harbor: a release of the package, or a commit of a repository. Pure; standard library only.

Accepted are a version (``0.25.0``), a branch, tag or commit of the default repository (``main``), ``org/repo@ref`` and
``https://host/path@ref``; ``file:///path@ref`` where the deployment is local.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Self
from urllib.parse import urlsplit

from oddish.errors import Forbidden, InvalidInput

PACKAGE = "package"
"""The source of a release of the published package."""
HOSTING = "https://github.com"
REPOSITORY = f"{HOSTING}/laude-institute/harbor"
"""The repository of a ``ref`` that names none, unless the deployment has another."""

_VERSION = re.compile(r"(?:harbor)?(?:==)?(\d+(?:\.\d+)+(?:(?:a|b|rc|\.post|\.dev)\d+)*)")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_][A-Za-z0-9._-]*")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ABBREVIATED = re.compile(r"[0-9a-f]{7,39}")
_FIX = "Give a version, a branch, tag or commit, org/repo@ref, or https://host/path@ref."


class InvalidReference(InvalidInput):
    """Something that names no Harbor."""

    code = "invalid_harbor_reference"


class ClosedSource(Forbidden):
    """A Harbor from a place that the deployment does not allow."""

    code = "closed_harbor_source"


@dataclass(frozen=True, slots=True)
class Reference:
    """One Harbor. ``sha`` is set once it is known what exactly ``ref`` stands for."""

    source: str
    """``package``, or the URL of a repository."""
    ref: str
    """As given: a version, a branch, a tag or a commit."""
    sha: str | None = None
    """The commit, or the version of a package."""

    @classmethod
    def parse(cls, text: str, *, repository: str) -> Self:
        """Read what a user writes. Raises ``InvalidReference``."""
        given = text.strip()
        if version := _VERSION.fullmatch(given):
            return cls(PACKAGE, version[1], version[1])
        source, at, ref = given.removeprefix("git+").rpartition("@")
        if not at:
            source, ref = repository, given
        elif _REPOSITORY.fullmatch(source):
            source = f"{HOSTING}/{source}"
        return cls.of(source, ref)

    @classmethod
    def asked_for(cls, block: Mapping[str, object], *, repository: str) -> Self | None:
        """The Harbor that a submission's block names by ``ref`` and, if it likes, ``source``; None for the usual one.

        Raises ``InvalidReference``.
        """
        source, ref = block.get("source"), block.get("ref")
        if source is None and ref is None:
            return None
        if not isinstance(ref, str) or not isinstance(source, str | None):
            raise InvalidReference("harbor.source and harbor.ref name another Harbor by two texts.", fix=_FIX)
        if source is None:
            return cls.parse(ref, repository=repository)
        return cls.of(f"{HOSTING}/{source}" if _REPOSITORY.fullmatch(source) else source, ref)

    @classmethod
    def of(cls, source: str, ref: str) -> Self:
        """Check the two parts. Raises ``InvalidReference``."""
        if source == PACKAGE:
            if not (version := _VERSION.fullmatch(ref)):
                raise InvalidReference(f"{ref!r} is no version of Harbor.", fix="Give one such as 0.25.0.")
            return cls(PACKAGE, version[1], version[1])
        url = _repository_url(source)
        if not _REF.fullmatch(ref) or ".." in ref or ref.endswith((".lock", "/")):
            raise InvalidReference(f"{ref!r} is no branch, tag or commit of {url}.", fix=_FIX)
        if _ABBREVIATED.fullmatch(ref) and not ref.isdecimal():
            raise InvalidReference(f"{ref!r} looks like a commit cut short.", fix="Give all 40 digits of it.")
        return cls(url, ref, ref if _COMMIT.fullmatch(ref) else None)

    def resolved(self, sha: str) -> Self:
        return replace(self, sha=sha)

    def check(self, allowed: Sequence[str], *, local: bool) -> None:
        """Raises ``ClosedSource`` unless the deployment allows the source; a local one allows all."""
        if local or any(fnmatchcase(self.source, pattern) for pattern in allowed):
            return
        raise ClosedSource(
            f"This deployment runs no Harbor from {self.source!r}.",
            fix="Leave --harbor out, or have the operator add it to ODDISH_HARBOR_SOURCES.",
        )

    def record(self) -> dict[str, str]:
        """As a trial keeps it."""
        if self.sha is None:
            raise ValueError(f"{self} is not resolved")
        return {"source": self.source, "ref": self.ref, "sha": self.sha}

    @classmethod
    def from_record(cls, block: Mapping[str, object]) -> Self | None:
        """The Harbor of a trial's block; None for the one the workers came with."""
        source, ref, sha = block.get("source"), block.get("ref"), block.get("sha")
        if isinstance(source, str) and isinstance(ref, str) and isinstance(sha, str):
            return cls(source, ref, sha)
        return None

    @property
    def requirement(self) -> str:
        """The requirement that installs exactly this one."""
        return f"harbor=={self.sha}" if self.source == PACKAGE else f"harbor @ git+{self.source}@{self.sha}"


def _repository_url(source: str) -> str:
    parts = urlsplit(f"file://{source}" if source.startswith("/") else source)
    if parts.scheme not in ("https", "file") or bool(parts.hostname) != (parts.scheme == "https"):
        raise InvalidReference(f"{source!r} is no address of a repository that can be used.", fix=_FIX)
    if parts.username is not None or parts.password is not None:
        raise InvalidReference(
            "The address of the repository carries a user name or password.", fix="Use a public repository."
        )
    if parts.query or parts.fragment or not re.fullmatch(r"(/[A-Za-z0-9_][A-Za-z0-9._+-]*)+/?", parts.path):
        raise InvalidReference(f"{source!r} is no address of a repository that can be used.", fix=_FIX)
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path.removesuffix('.git') if parts.scheme == 'https' else path}"
