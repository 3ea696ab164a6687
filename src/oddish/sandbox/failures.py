"""Why a command did not start, or its sandbox is gone."""

import errno

_MALFORMED = frozenset({errno.EINVAL, errno.E2BIG})
_EXHAUSTED = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})


class CommandFailed(RuntimeError):
    """A command could not be started: no such program, no such directory, the sandbox is gone.

    ``code`` is the kernel's ``errno``; 0 when the sandbox is gone.
    """

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code

    @property
    def malformed(self) -> bool:
        """Whether it is the command itself that no sandbox could start."""
        return self.code in _MALFORMED

    @property
    def exhausted(self) -> bool:
        """Whether there were too many processes or too little memory for it."""
        return self.code in _EXHAUSTED


class DiskLimitExceeded(CommandFailed):
    """The sandbox was ended because it held more on disk than it may."""


class DiskScarce(CommandFailed):
    """The sandbox was ended because the machine's disk was almost full and it held much of it."""
