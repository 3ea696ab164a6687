"""What a sandbox shows of the host, as arguments for bubblewrap.

The root is built from nothing. Host directories appear as the lower half of overlays (with privileges) or read-only
(without); everything else a program expects is a fresh directory. Nothing of the host's ``/root``, ``/home``, ``/run``,
``/var``, ``/srv`` or ``/mnt`` is there unless it is named here.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from oddish.sandbox import host, libraries
from oddish.sandbox.libraries import copy_attributes
from oddish.sandbox.spec import Spec

SHOWN = (
    "/usr",
    "/etc",
    "/opt",
    "/var/lib/dpkg",
    "/var/lib/apt",
    "/var/lib/ucf",
    "/var/lib/pam",
    "/var/lib/rpm",
    "/var/cache/apt",
    "/var/cache/debconf",
)
"""Host directories that a task may build on."""

ROOT = "root"
"""In the directory of a sandbox: what was written to it outside of what the host shows."""

_TOP_LEVEL = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_DIRECTORIES = {
    "app": 0o777,
    "dev": 0o755,
    "home": 0o755,
    "installed-agent": 0o777,
    "logs": 0o777,
    "media": 0o755,
    "mnt": 0o755,
    "proc": 0o755,
    "root": 0o700,
    "run": 0o755,
    "run/lock": 0o1777,
    "solution": 0o777,
    "srv": 0o755,
    "sys": 0o755,
    "tests": 0o777,
    "tmp": 0o1777,
    "var": 0o755,
    "var/cache": 0o755,
    "var/lib": 0o755,
    "var/local": 0o755,
    "var/log": 0o755,
    "var/mail": 0o755,
    "var/opt": 0o755,
    "var/spool": 0o755,
    "var/tmp": 0o1777,
    "workspace": 0o777,
}
_LINKS = {"var/run": "/run", "var/lock": "/run/lock"}
_PROC_READ_ONLY = ("sys", "bus", "fs", "irq")
_PROC_MASKED = (
    "acpi",
    "kcore",
    "keys",
    "key-users",
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "latency_stats",
    "sched_debug",
    "scsi",
    "sysrq-trigger",
    "timer_list",
    "timer_stats",
)
_SYS_SHOWN = "/sys/devices/system/cpu"
_SECRET_DEPTH = {"/etc": 16, "/usr/local/etc": 16, "/opt": 2, "/var/cache/debconf": 1}
"""Directories whose entries that not everybody may read are left out, and down to which level."""
_NO_SECRET = frozenset({"/etc/sudoers", "/etc/sudoers.d", "/etc/.pwd.lock"})
_PASSWORDS = ("shadow", "gshadow")


def arguments(spec: Spec) -> list[str]:
    """Fill the directory of ``spec`` and return bubblewrap's arguments, the init's command line included."""
    root = spec.directory / ROOT
    root.mkdir(mode=0o755)
    if not spec.layers:
        _furnish(root)
    shown = _shown(spec)
    result = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--as-pid-1", "--die-with-parent"]
    result += ["--hostname", spec.name[:63], "--cap-drop", "ALL"]
    if not host.privileged():
        result += ["--unshare-user", "--uid", "0", "--gid", "0"]
    if not spec.network:
        result.append("--unshare-net")
    result += _root(spec)
    for path in shown:
        result += _overlay(path, spec) if host.privileged() else _read_only(path, spec)
    result += _kernel()
    result += _hidden(spec, shown)
    for bind in spec.binds:
        result += ["--ro-bind" if bind.read_only else "--bind", str(bind.source), bind.target]
    result += ["--chdir", "/", "--", "/bin/sh", "-c", _INIT]
    return result


_INIT = "echo; exec >/dev/null 2>&1; exec env -i --ignore-signal=CHLD sleep infinity"
"""Ignoring SIGCHLD makes the kernel reap whatever is orphaned; as process 1 it is immune to signals from inside."""


def system_directories() -> tuple[str, ...]:
    """Host directories that programs and libraries are in."""
    return (
        "/usr",
        *(f"/{name}" for name in _TOP_LEVEL if Path("/", name).is_dir() and not Path("/", name).is_symlink()),
    )


def _shown(spec: Spec) -> list[str]:
    shown = [path for path in SHOWN if Path(path).is_dir() and not _is_hidden(Path(path), spec)]
    return shown + [path for path in system_directories() if path not in shown]


def uppers(spec: Spec) -> list[str]:
    """Names below ``spec.directory`` that hold what changed in its sandbox."""
    return ["root", *(upper_name(path) for path in _shown(spec) if host.privileged())]


def _furnish(root: Path) -> None:
    for name, mode in _DIRECTORIES.items():
        directory = root / name
        directory.mkdir()
        directory.chmod(mode)
    for name, target in _LINKS.items():
        (root / name).symlink_to(target)
    for name in _TOP_LEVEL:
        source = Path("/", name)
        if source.is_symlink():
            (root / name).symlink_to(source.readlink())
    for name in ("resolv.conf", "hosts", "localtime"):
        _copy_behind_link(Path("/etc", name), root)


def _copy_behind_link(link: Path, root: Path) -> None:
    """``/etc/resolv.conf`` often points to ``/run``, which is not shown: put its content where the link points."""
    target = Path(os.path.realpath(link))
    if not link.is_symlink() or not target.is_file() or any(target.is_relative_to(path) for path in SHOWN):
        return
    copy = root / target.relative_to("/")
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(target.read_bytes())


def upper_name(path: str) -> str:
    """Directory name of the changes below ``path`` inside a sandbox or layer directory."""
    return path.strip("/").replace("/", "-") or "root"


def _root(spec: Spec) -> list[str]:
    if not spec.layers:
        return ["--bind", str(spec.directory / "root"), "/"]
    work = spec.directory / "root.work"
    work.mkdir()
    lower = [argument for layer in spec.layers for argument in ("--overlay-src", str(layer / "root"))]
    return [*lower, "--overlay", str(spec.directory / "root"), str(work), "/"]


def _overlay(path: str, spec: Spec) -> list[str]:
    upper, work = spec.directory / upper_name(path), spec.directory / f"{upper_name(path)}.work"
    upper.mkdir()
    work.mkdir()
    copy_attributes(Path(path), upper)
    copies = [spec.libraries / path.lstrip("/")] if spec.libraries else []
    lowers = [*copies, *(layer / upper_name(path) for layer in spec.layers)]
    sources = [path, *(str(lower) for lower in lowers if lower.is_dir())]
    if not spec.layers:
        _leave_out_secrets(path, upper)
    lower = [argument for source in sources for argument in ("--overlay-src", source)]
    return [*lower, "--overlay", str(upper), str(work), path]


def _secrets(directory: Path, depth: int) -> Iterator[Path]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_symlink() or entry.path in _NO_SECRET:
                continue
            mode = entry.stat(follow_symlinks=False).st_mode
            needed = stat.S_IROTH | stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
            if mode & needed != needed:
                yield Path(entry.path)
            elif stat.S_ISDIR(mode) and depth > 1:
                yield from _secrets(Path(entry.path), depth - 1)


def _secret_paths(path: str) -> Iterator[Path]:
    for directory, depth in _SECRET_DEPTH.items():
        if Path(directory).is_relative_to(path) and Path(directory).is_dir():
            yield from _secrets(Path(directory), depth)


def _leave_out_secrets(path: str, upper: Path) -> None:
    for secret in _secret_paths(path):
        copy = upper / secret.relative_to(path)
        for parent in reversed(copy.relative_to(upper).parents[:-1]):
            if not (upper / parent).exists():
                (upper / parent).mkdir()
                copy_attributes(Path(path, parent), upper / parent)
        if secret.is_dir():
            copy.mkdir()
            os.setxattr(copy, "user.overlay.opaque", b"y")
            copy_attributes(secret, copy)
        elif secret.parent == Path("/etc") and secret.name in _PASSWORDS:
            copy.write_text("".join(_without_password(line) for line in secret.read_text().splitlines(keepends=True)))
            copy_attributes(secret, copy)
        else:
            os.mknod(copy, stat.S_IFCHR, os.makedev(0, 0))


def _without_password(line: str) -> str:
    name, _, rest = line.partition(":")
    return f"{name}:*:{rest.partition(':')[2]}"


def _read_only(path: str, spec: Spec) -> list[str]:
    result = ["--ro-bind", path, path, *_masks(path)]
    if tree := spec.libraries:
        for copy in libraries.copies(tree):
            if Path("/", copy).is_relative_to(path):
                result += ["--ro-bind", str(tree / copy), f"/{copy}"]
    return result


def _masks(path: str) -> list[str]:
    """Without privileges the kernel refuses most secrets by itself; what the user's own groups may read is masked."""
    result = []
    for secret in _secret_paths(path):
        if os.access(secret, os.R_OK):
            result += _mask(secret)
    return result


def _mask(path: Path) -> list[str]:
    if path.is_dir():
        return ["--tmpfs", str(path), "--remount-ro", str(path)]
    return ["--ro-bind", "/dev/null", str(path)]


def _kernel() -> list[str]:
    result = ["--proc", "/proc", "--dev", "/dev"]
    for name in _PROC_READ_ONLY:
        if Path("/proc", name).exists():
            result += ["--ro-bind", f"/proc/{name}", f"/proc/{name}"]
    for name in _PROC_MASKED:
        path = Path("/proc", name)
        if path.exists():
            result += _mask(path)
    if Path(_SYS_SHOWN).is_dir():
        result += ["--ro-bind", _SYS_SHOWN, _SYS_SHOWN]
    return result


def _is_hidden(path: Path, spec: Spec) -> bool:
    return any(path.is_relative_to(hidden) for hidden in _hidden_paths(spec))


def _hidden_paths(spec: Spec) -> list[Path]:
    own = (spec.directory, spec.directory.parent / libraries.DIRECTORY)
    return [Path(os.path.realpath(path)) for path in (*spec.hidden, *own)]


def _hidden(spec: Spec, shown: list[str]) -> list[str]:
    result = []
    for path in _hidden_paths(spec):
        if path.exists() and any(path.is_relative_to(directory) for directory in shown):
            result += _mask(path)
    return result
