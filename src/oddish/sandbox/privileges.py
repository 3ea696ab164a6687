"""Giving up privileges for good: capabilities, the bounding set, system calls, other domains' sockets and signals.

Runs inside the keeper, a bare interpreter, and therefore imports the standard library only. Every function acts on the
calling process; none can be undone.
"""

import ctypes
import os
import struct

CAPABILITIES = {
    "chown": 0,
    "dac_override": 1,
    "fowner": 3,
    "fsetid": 4,
    "kill": 5,
    "setgid": 6,
    "setuid": 7,
    "setpcap": 8,
    "net_bind_service": 10,
    "sys_chroot": 18,
    "setfcap": 31,
}
"""What a process inside a sandbox may ever hold: the kernel's number by name."""

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_CAPBSET_READ = 23
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_SECCOMP_MODE_FILTER = 2
_SIGKILL = 9
_LINUX_CAPABILITY_VERSION_3 = 0x20080522
_CAPSET = {"x86_64": 126, "aarch64": 91}
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_RESTRICT_SELF = 446
_LANDLOCK_VERSION = 1
_LANDLOCK_SCOPES_SINCE = 6
_LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET = 1
_LANDLOCK_SCOPE_SIGNAL = 2

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def _prctl(option: int, argument: int = 0, *rest: object) -> int:
    arguments = [ctypes.c_ulong(argument), *rest]
    while len(arguments) < 4:
        arguments.append(ctypes.c_ulong(0))
    return int(_libc.prctl(option, *arguments))


def die_with_parent() -> None:
    """SIGKILL for this process when the thread that forked it ends."""
    _check(_prctl(_PR_SET_PDEATHSIG, _SIGKILL), "prctl(PR_SET_PDEATHSIG)")


def adopt_orphans() -> None:
    """Orphaned descendants become children of this process, so that it can wait for every one of them."""
    _check(_prctl(_PR_SET_CHILD_SUBREAPER, 1), "prctl(PR_SET_CHILD_SUBREAPER)")


def close_memory() -> None:
    """No other process of the same user may read this one's memory or reach its descriptors through /proc."""
    _check(_prctl(_PR_SET_DUMPABLE, 0), "prctl(PR_SET_DUMPABLE)")


def go_first() -> None:
    """When the machine's memory is full the kernel ends this process, or one it starts, before any other."""
    # Its entry in /proc belongs to root while its memory is closed.
    _check(_prctl(_PR_SET_DUMPABLE, 1), "prctl(PR_SET_DUMPABLE)")
    with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - the keeper does without pathlib
        file.write("1000")
    close_memory()


def filter_system_calls(program: bytes) -> None:
    """Install a compiled seccomp filter. Needs CAP_SYS_ADMIN in the current user namespace."""
    buffer = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer)))
    _check(_prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(header)), "prctl(PR_SET_SECCOMP)")


def leave_other_domains() -> bool:
    """Cut off abstract Unix sockets and signals of processes outside this one's future descendants.

    The network namespace may be the host's, and with it the host's abstract sockets. False where the kernel is older
    than 6.12 or built without Landlock.
    """
    version = int(_libc.syscall(_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), _LANDLOCK_VERSION))
    if version < _LANDLOCK_SCOPES_SINCE:
        return False
    scopes = _LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | _LANDLOCK_SCOPE_SIGNAL
    attributes = ctypes.create_string_buffer(struct.pack("=QQQ", 0, 0, scopes), 24)
    ruleset = _check(
        int(_libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(24), 0)), "landlock_create_ruleset"
    )
    try:
        _check(int(_libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0)), "landlock_restrict_self")
    finally:
        os.close(ruleset)
    return True


def keep_only(capabilities: int) -> None:
    """Reduce the bounding, permitted and effective sets to the bit mask ``capabilities``; empty the others."""
    number = 0
    while _prctl(_PR_CAPBSET_READ, number) >= 0:
        if not capabilities >> number & 1:
            _check(_prctl(_PR_CAPBSET_DROP, number), "prctl(PR_CAPBSET_DROP)")
        number += 1
    _check(_prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL), "prctl(PR_CAP_AMBIENT)")
    low, high = capabilities & 0xFFFFFFFF, capabilities >> 32
    header = ctypes.create_string_buffer(struct.pack("=Ii", _LINUX_CAPABILITY_VERSION_3, 0), 8)
    sets = ctypes.create_string_buffer(struct.pack("=6I", low, low, 0, high, high, 0), 24)
    _check(int(_libc.syscall(_CAPSET[os.uname().machine], header, sets)), "capset")


def mask() -> int:
    """The bit mask of ``CAPABILITIES``."""
    return sum(1 << number for number in CAPABILITIES.values())
