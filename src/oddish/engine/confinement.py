"""What is opened below the directory of an attempt is found there, whatever links lie in its way.

Parts of that directory are mounted into the sandbox, and Harbor reads and writes them from outside while what it does
not trust runs there. A link to a file of the machine, put in the place of a log, would be read or overwritten with the
rights of the worker; a pipe would be waited for.
"""

import builtins
import ctypes
import errno
import functools
import io
import os
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS, _RESOLVE_BENEATH = 0x02, 0x08
_UNSUPPORTED = {errno.ENOSYS, errno.EPERM, errno.E2BIG}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MODE = 0o666

_OPENERS = ((builtins, "open"), (io, "open"), (tarfile, "bltn_open"))
"""Where code finds ``open``; tarfile has a name of its own for it."""

_libc = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def confine(directory: Path) -> None:
    """Make ``open`` of this process open what is named below ``directory`` there or not at all.

    Links that stay below it are followed, where the kernel can tell; others, pipes and devices are a PermissionError.
    """
    roots = tuple(dict.fromkeys((str(directory.absolute()), str(directory.resolve()))))
    for module, name in _OPENERS:
        vars(module)[name] = _confined(vars(module)[name], roots)


def open_beneath(root: Path, relative: Path, flags: int, *, resolve: bool = True) -> int:
    """A descriptor of the regular file ``relative`` to ``root``. Raises OSError.

    Without ``resolve``, and where the kernel has no openat2, no link is followed at all.
    """
    at = os.open(root, _FOLDER)
    try:
        descriptor = _resolved(at, relative, flags) if resolve else None
        if descriptor is None:
            descriptor = _without_links(at, relative, flags)
    except OSError as error:
        if error.errno in {errno.EXDEV, errno.ELOOP, errno.ENXIO}:
            raise _refused(root, relative) from error
        raise
    finally:
        os.close(at)
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG:
        os.close(descriptor)
        raise IsADirectoryError(root / relative) if kind == stat.S_IFDIR else _refused(root, relative)
    os.set_blocking(descriptor, True)
    return descriptor


def _confined(original: Callable[..., Any], roots: tuple[str, ...]) -> Callable[..., Any]:
    @functools.wraps(original)
    def guarded(file: Any, *args: Any, **kwargs: Any) -> Any:
        place = None if isinstance(file, int) or len(args) >= 7 or kwargs.get("opener") else _place(file, roots)
        if place is None:
            return original(file, *args, **kwargs)
        root, relative = place
        kwargs["opener"] = lambda _, flags: open_beneath(Path(root), Path(relative), flags)
        return original(file, *args, **kwargs)

    return guarded


def _place(file: Any, roots: tuple[str, ...]) -> tuple[str, str] | None:
    """The root that ``file`` is below, and its path from there."""
    name = os.fsdecode(file)
    path = "/" + os.path.normpath(name if name.startswith("/") else f"{Path.cwd()}/{name}").lstrip("/")
    for root in roots:
        if path.startswith(f"{root}/"):
            return root, path.removeprefix(f"{root}/")
    return None


def _resolved(at: int, relative: Path, flags: int) -> int | None:
    """None where the kernel, or what filters its calls, does not know openat2."""
    flags |= os.O_CLOEXEC | os.O_NONBLOCK
    how = _How(flags, _MODE if flags & os.O_CREAT else 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    descriptor = int(_libc.syscall(_OPENAT2, at, os.fsencode(relative), ctypes.byref(how), ctypes.sizeof(how)))
    if descriptor >= 0:
        return descriptor
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return None
    raise OSError(code, os.strerror(code), str(relative))


def _without_links(at: int, relative: Path, flags: int) -> int:
    inner = os.dup(at)
    try:
        for folder in relative.parts[:-1]:
            outer, inner = inner, os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=inner)
            os.close(outer)
        return os.open(relative.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, _MODE, dir_fd=inner)
    except NotADirectoryError as error:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(relative)) from error
    finally:
        os.close(inner)


def _refused(root: Path, relative: Path) -> PermissionError:
    return PermissionError(
        errno.EACCES, "refused: a link out of the attempt's directory, or no regular file", str(root / relative)
    )
