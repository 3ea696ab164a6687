"""Processes that cannot outlive their owner. Linux has all of it; elsewhere only the process group remains."""

import contextlib
import ctypes
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
PROCESS_NAME_BYTES = 15

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, argument: int | bytes) -> None:
    if sys.platform != "linux":
        return
    value = ctypes.c_char_p(argument) if isinstance(argument, bytes) else ctypes.c_ulong(argument)
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


def fork(body: Callable[[], None]) -> int:
    """Run ``body`` in a child with a session of its own that is killed when this process ends; return its process id.

    The child exits with 0 when ``body`` returns and with 1 when it raises; exit handlers of this process do not run.
    Only for a process with a single thread.
    """
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            body()
            status = 0
    except BaseException:  # noqa: BLE001  nothing may unwind into the parent's frames
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, instead of init."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def limit_memory(megabytes: int) -> None:
    """Let this process and what it starts have at most so much memory each; who may have more raises it again."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))


def set_name(label: str) -> None:
    """Show the end of ``label`` as this process's name in ``ps`` and ``top``."""
    _prctl(PR_SET_NAME, label.encode()[-PROCESS_NAME_BYTES:])


def children() -> set[int]:
    """Ids of this process's children, adopted ones included, zombies too. Empty where the kernel does not tell."""
    pid = os.getpid()
    try:
        return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    except OSError:
        return set()


def reap() -> tuple[int, int] | None:
    """Collect one ended child: its id and exit code, or minus its signal. None when there is none right now."""
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, os.waitstatus_to_exitcode(status)) if pid else None


def kill(pid: int) -> None:
    """Kill one process, if it is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def kill_group(pid: int) -> None:
    """Kill the process group that ``pid`` leads or led, if there is one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def close_descriptors_except(keep: int) -> None:
    """Close every descriptor above 2 except ``keep``."""
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))


def read_nothing() -> None:
    """Point standard input at the null device."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


def write_to(path: Path) -> None:
    """Append standard output and error to ``path``, which must not be a symbolic link."""
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
