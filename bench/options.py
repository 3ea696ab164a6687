"""How much is measured, and with what."""

import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    quick: bool = False
    """Few rounds and small sizes: to see that it works, not to quote."""
    pgqueuer: str = sys.executable
    """An interpreter that has pgqueuer and asyncpg."""

    def rounds(self, usual: int, quick: int = 1) -> int:
        return quick if self.quick else usual

    def size(self, usual: int) -> int:
        return max(usual // 100, 10) if self.quick else usual
