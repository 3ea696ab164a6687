"""The errors a user can meet. Each names the value, the reason and the fix.

``OddishError`` is what every layer raises for bad input or a missing precondition. The API turns it into a
problem document (RFC 9457) with its ``code`` and ``status``; the command line prints it and exits with 1.
Standard library only.
"""

from typing import ClassVar

EXIT_UNREADABLE_SETTING = 2
"""The exit status of a server or worker that cannot start with its settings, however often it is started."""


class OddishError(Exception):
    """A refusal with a stable machine-readable ``code`` and the HTTP ``status`` it maps to.

    ``message`` names the offending value and why it is refused; ``fix`` says what to do about it.
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 400
    retry_after: int | None = None
    """Seconds after which trying again may help, where more is known than that it may."""

    def __init__(self, message: str, *, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} {self.fix}" if self.fix else self.message


class InvalidInput(OddishError):
    """A value that can never be accepted."""

    code = "invalid_input"


class InvalidTask(OddishError):
    """A task directory or archive that Harbor could not run."""

    code = "invalid_task"


class Unauthenticated(OddishError):
    """No key, or one that is unknown, expired or revoked."""

    code = "unauthenticated"
    status = 401


class Forbidden(OddishError):
    """The key is known and its scope or role is too small."""

    code = "forbidden"
    status = 403


class NotFound(OddishError):
    """Nothing of that id in the caller's organisation."""

    code = "not_found"
    status = 404


class Conflict(OddishError):
    """The request contradicts what exists."""

    code = "conflict"
    status = 409


class TooLarge(OddishError):
    """A body, archive or file above its limit."""

    code = "too_large"
    status = 413


class Unavailable(OddishError):
    """Something needed for the answer does not answer itself; trying again may help."""

    code = "unavailable"
    status = 503
