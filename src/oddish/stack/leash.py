"""Run a program that ends with its parent: ``python leash.py SIGNAL PARENT_PID PROGRAM ARGUMENT...``.

Executed as a file by a bare interpreter, between the parent and the program: the kernel forgets the request when a
process changes its credentials, so it is made after ``unshare`` or ``setpriv`` and not in the parent's fork.
Standard library only.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def leashed(number: signal.Signals, *program: str) -> list[str]:
    """The command for ``program`` that gets the signal ``number`` when this process ends."""
    return [sys.executable, "-I", "-S", __file__, number.name, str(os.getpid()), *program]


def main(number: str, parent: str, *program: str) -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.Signals[number].value)
        if os.getppid() != int(parent):
            raise SystemExit(f"process {parent}, the parent, has ended")
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.execv(program[0], program)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main(*sys.argv[1:])
