"""What is wrong with something that was asked for."""

from oddish.errors import InvalidInput


class InvalidFilter(InvalidInput):
    """A filter of a list of tasks that does not exist or whose value cannot be read."""

    code = "invalid_filter"


class Flaw(ValueError):
    """Why a value cannot be read, as a phrase that follows it: ``reason``, and what to do about it."""

    def __init__(self, reason: str, *, fix: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix
