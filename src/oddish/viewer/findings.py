"""What is wrong with a results directory, in words for whoever wrote it. Pure."""

from dataclasses import dataclass, field, replace
from typing import Literal

type Level = Literal["error", "warning"]
"""``error``: something cannot be shown, or breaks the contract. ``warning``: it is shown, and should be looked at."""

MOST = 100
"""Findings that are kept of one file."""


@dataclass(frozen=True, slots=True)
class Finding:
    level: Level
    place: str
    """A path below the directory and, after a colon, a place in the file."""
    found: str
    fix: str | None = None

    def below(self, path: str) -> "Finding":
        """The same finding, of the file at ``path``."""
        return replace(self, place=f"{path}: {self.place}" if self.place else path)


@dataclass
class Notes:
    """Collects the findings of one file, of which only the first ``MOST`` are kept."""

    _kept: list[Finding] = field(default_factory=list)
    _left_out: int = 0

    def error(self, place: str, found: str, fix: str | None = None) -> None:
        self._add(Finding("error", place, found, fix))

    def warning(self, place: str, found: str, fix: str | None = None) -> None:
        self._add(Finding("warning", place, found, fix))

    def _add(self, finding: Finding) -> None:
        if len(self._kept) < MOST:
            self._kept.append(finding)
        else:
            self._left_out += 1

    @property
    def findings(self) -> tuple[Finding, ...]:
        if not self._left_out:
            return tuple(self._kept)
        return (*self._kept, Finding("warning", "", f"{self._left_out} more findings are left out."))
