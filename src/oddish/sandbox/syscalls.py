"""The seccomp program of every process in a sandbox: which system calls are refused, compiled to BPF.

Refused is what reaches past a sandbox or grows the kernel surface it can attack: mounts, new namespaces, keyrings,
kernel modules, BPF, io_uring, the clock, other machines' sockets. The list follows what container engines refuse by
default; ``setns`` and ``capset`` stay, they are useless without the capabilities that are gone by then.
"""

import errno
import platform
import struct
from dataclasses import dataclass

from oddish.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Abi:
    """One calling convention that a kernel accepts: its audit number and its system call numbers by name."""

    audit: int
    numbers: dict[str, int]
    beyond: int | None = None
    """First number of a foreign numbering that shares ``audit``; everything from there on is refused."""


_COMMON = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "statmount": 457,
    "listmount": 458,
    "open_tree_attr": 467,
}

_X86_64 = Abi(
    audit=0xC000003E,
    beyond=0x40000000,
    numbers=_COMMON
    | {
        "socket": 41,
        "clone": 56,
        "syslog": 103,
        "uselib": 134,
        "ustat": 136,
        "sysfs": 139,
        "vhangup": 153,
        "pivot_root": 155,
        "_sysctl": 156,
        "acct": 163,
        "settimeofday": 164,
        "mount": 165,
        "umount2": 166,
        "swapon": 167,
        "swapoff": 168,
        "reboot": 169,
        "iopl": 172,
        "ioperm": 173,
        "create_module": 174,
        "init_module": 175,
        "delete_module": 176,
        "get_kernel_syms": 177,
        "query_module": 178,
        "quotactl": 179,
        "nfsservctl": 180,
        "lookup_dcookie": 212,
        "clock_settime": 227,
        "kexec_load": 246,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "unshare": 272,
        "move_pages": 279,
        "perf_event_open": 298,
        "fanotify_init": 300,
        "open_by_handle_at": 304,
        "kcmp": 312,
        "finit_module": 313,
        "kexec_file_load": 320,
        "bpf": 321,
        "userfaultfd": 323,
    },
)

_I386 = Abi(
    audit=0x40000003,
    numbers=_COMMON
    | {
        "mount": 21,
        "umount": 22,
        "stime": 25,
        "acct": 51,
        "umount2": 52,
        "ustat": 62,
        "settimeofday": 79,
        "uselib": 86,
        "swapon": 87,
        "reboot": 88,
        "ioperm": 101,
        "syslog": 103,
        "iopl": 110,
        "vhangup": 111,
        "vm86old": 113,
        "swapoff": 115,
        "clone": 120,
        "create_module": 127,
        "init_module": 128,
        "delete_module": 129,
        "get_kernel_syms": 130,
        "quotactl": 131,
        "sysfs": 135,
        "_sysctl": 149,
        "vm86": 166,
        "query_module": 167,
        "nfsservctl": 169,
        "pivot_root": 217,
        "lookup_dcookie": 253,
        "clock_settime": 264,
        "kexec_load": 283,
        "add_key": 286,
        "request_key": 287,
        "keyctl": 288,
        "unshare": 310,
        "move_pages": 317,
        "perf_event_open": 336,
        "fanotify_init": 338,
        "open_by_handle_at": 342,
        "kcmp": 349,
        "finit_module": 350,
        "bpf": 357,
        "socket": 359,
        "userfaultfd": 374,
        "clock_settime64": 404,
    },
)

_AARCH64 = Abi(
    audit=0xC00000B7,
    numbers=_COMMON
    | {
        "lookup_dcookie": 18,
        "umount2": 39,
        "mount": 40,
        "pivot_root": 41,
        "nfsservctl": 42,
        "vhangup": 58,
        "quotactl": 60,
        "acct": 89,
        "unshare": 97,
        "kexec_load": 104,
        "init_module": 105,
        "delete_module": 106,
        "clock_settime": 112,
        "syslog": 116,
        "reboot": 142,
        "settimeofday": 170,
        "socket": 198,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "clone": 220,
        "swapon": 224,
        "swapoff": 225,
        "move_pages": 239,
        "perf_event_open": 241,
        "fanotify_init": 262,
        "open_by_handle_at": 265,
        "kcmp": 272,
        "finit_module": 273,
        "bpf": 280,
        "userfaultfd": 282,
        "kexec_file_load": 294,
    },
)

ABIS = {"x86_64": (_X86_64, _I386), "aarch64": (_AARCH64,)}
"""Calling conventions by machine name. A convention that is not listed is refused as a whole."""

_NAMESPACE_FLAGS = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_AF_VSOCK = 40

_LOAD, _JUMP, _JUMP_EQUAL, _JUMP_ABOVE, _JUMP_BITS, _RETURN = 0x20, 0x05, 0x15, 0x35, 0x45, 0x06
_REFUSED_BY_FIRST_ARGUMENT = {"clone": (_JUMP_BITS, _NAMESPACE_FLAGS), "socket": (_JUMP_EQUAL, _AF_VSOCK)}
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000
_NUMBER_AT, _AUDIT_AT, _FIRST_ARGUMENT_AT = 0, 4, 16


def _statement(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _refuse(code: int) -> bytes:
    return _statement(_RETURN, _REFUSE | code)


def _rules(abi: Abi) -> bytes:
    rules = [_statement(_LOAD, _NUMBER_AT)]
    if abi.beyond is not None:
        rules += [_statement(_JUMP_ABOVE, abi.beyond, 0, 1), _refuse(errno.ENOSYS)]
    for name, number in abi.numbers.items():
        if name in _REFUSED_BY_FIRST_ARGUMENT:
            rules += [
                _statement(_JUMP_EQUAL, number, 0, 4),
                _statement(_LOAD, _FIRST_ARGUMENT_AT),
                _statement(*_REFUSED_BY_FIRST_ARGUMENT[name], 0, 1),
                _refuse(errno.EPERM),
                _statement(_RETURN, _ALLOW),
            ]
        else:
            # The flags of clone3 are behind a pointer that a filter cannot read; C libraries fall back to clone on it.
            code = errno.ENOSYS if name == "clone3" else errno.EPERM
            rules += [_statement(_JUMP_EQUAL, number, 0, 1), _refuse(code)]
    rules.append(_statement(_RETURN, _ALLOW))
    return b"".join(rules)


def program(machine: str | None = None) -> bytes:
    """The BPF program for ``machine`` (default: this one), as an array of ``struct sock_filter``.

    Raises ``Unavailable`` for a machine whose system call numbers are not known.
    """
    machine = machine or platform.machine()
    if machine not in ABIS:
        raise Unavailable(
            f"The local sandbox has no system call filter for the architecture {machine!r}.",
            fix="Use the docker environment.",
        )
    parts = [_statement(_LOAD, _AUDIT_AT)]
    for abi in ABIS[machine]:
        rules = _rules(abi)
        parts += [_statement(_JUMP_EQUAL, abi.audit, 1, 0), _statement(_JUMP, len(rules) // 8), rules]
    parts.append(_refuse(errno.ENOSYS))
    return b"".join(parts)
