"""The caller of one request."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

ADMIN = "admin"
MEMBER = "member"


class Scope(StrEnum):
    """What a key may do; each scope includes the ones before it."""

    READ = "read"
    TASKS = "tasks"
    FULL = "full"

    def includes(self, needed: "Scope") -> bool:
        order = list(Scope)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated key and the user and organisation it acts for."""

    key_id: str
    org_id: str
    user_id: str
    user_name: str
    role: str
    """``ADMIN`` or ``MEMBER``"""
    scope: Scope
    expires_at: datetime | None = None
    """Of the key."""
