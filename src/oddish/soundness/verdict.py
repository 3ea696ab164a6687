"""What one check came to, and what many come to together."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

type Level = Literal["ok", "warning", "failed", "unchecked"]
type Verdict = Literal["sound", "unsound", "unchecked"]


@dataclass(frozen=True, slots=True)
class Check:
    """``failed``: the task cannot be trusted as it is. ``unchecked``: something else was in the way of finding out."""

    name: str
    level: Level
    found: str
    fix: str | None = None


def ok(name: str, found: str) -> Check:
    return Check(name, "ok", found)


def warning(name: str, found: str, fix: str | None = None) -> Check:
    return Check(name, "warning", found, fix)


def failed(name: str, found: str, fix: str | None = None) -> Check:
    return Check(name, "failed", found, fix)


def unchecked(name: str, found: str, fix: str | None = None) -> Check:
    return Check(name, "unchecked", found, fix)


def verdict(checks: Iterable[Check]) -> Verdict:
    """A failed check is decisive, whatever could not be found out beside it."""
    return together("unsound" if check.level == "failed" else _of_level(check.level) for check in checks)


def together(verdicts: Iterable[Verdict]) -> Verdict:
    found = set(verdicts)
    return "unsound" if "unsound" in found else "unchecked" if "unchecked" in found else "sound"


def _of_level(level: Level) -> Verdict:
    return "unchecked" if level == "unchecked" else "sound"
