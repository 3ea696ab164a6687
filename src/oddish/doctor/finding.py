"""What one look at the machine came to."""

from dataclasses import dataclass
from typing import Literal

type Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """``problem``: no trial can run until it is solved. ``warning``: some cannot, or something may go wrong."""

    subject: str
    level: Level
    found: str
    fix: str | None = None


def ok(subject: str, found: str) -> Finding:
    return Finding(subject, "ok", found)


def warning(subject: str, found: str, fix: str | None = None) -> Finding:
    return Finding(subject, "warning", found, fix)


def problem(subject: str, found: str, fix: str | None = None) -> Finding:
    return Finding(subject, "problem", found, fix)
