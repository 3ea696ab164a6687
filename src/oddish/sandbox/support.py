"""Whether this machine offers the local sandbox, and if not, what would change that."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from oddish.errors import Unavailable
from oddish.sandbox import host, syscalls

_PROGRAMS = ("sh", "env", "sleep", "tar", "cat", "rm")
_PROBE_SECONDS = 20
_USER_NAMESPACES_RESTRICTED = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_MAX_USER_NAMESPACES = Path("/proc/sys/user/max_user_namespaces")
_CLONE_ALLOWED = Path("/proc/sys/kernel/unprivileged_userns_clone")


@dataclass(frozen=True, slots=True)
class Support:
    """``reason`` says why it is unusable and the fix, or is None."""

    reason: str | None

    @property
    def usable(self) -> bool:
        return self.reason is None


@cache
def support() -> Support:
    """Finds out by starting one sandbox; about 20 ms the first time, then remembered. Never raises."""
    if sys.platform != "linux":
        return Support("The local sandbox needs Linux. Use the docker environment.")
    try:
        syscalls.program()
    except Unavailable as error:
        return Support(str(error))
    missing = [name for name in _PROGRAMS if shutil.which(name, path="/usr/bin:/bin") is None]
    if missing:
        return Support(f"The local sandbox needs these programs in /usr/bin: {', '.join(missing)}. Install them.")
    candidates = host.bwrap_candidates()
    if not candidates:
        return Support("There is no bwrap program. Install oddish[worker], or bubblewrap from your distribution.")
    failures = [_probe(program) for program in candidates]
    if all(failures):
        return Support(explain(failures[0] or "", privileged=host.privileged()))
    return Support(None)


def _probe(program: str) -> str | None:
    arguments = [program, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup"]
    if not host.privileged():
        arguments += ["--unshare-user", "--uid", "0", "--gid", "0"]
    arguments += ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/sh", "-c", "exit 0"]
    try:
        outcome = subprocess.run(
            arguments, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False, env={"PATH": os.defpath}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if outcome.returncode == 0 else outcome.stderr.strip() or f"bwrap ended with {outcome.returncode}"


def _value(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def explain(message: str, *, privileged: bool) -> str:
    """What bubblewrap said, with the setting of this machine that is behind it."""
    said = f"The local sandbox cannot start here: {message}."
    if privileged:
        return f"{said} Run in a machine or container that may mount filesystems, or use the docker environment."
    if _value(_USER_NAMESPACES_RESTRICTED) == "1":
        return (
            f"{said} AppArmor denies user namespaces to this program. Install the distribution's bubblewrap, which has "
            "a profile, or as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        )
    if _value(_CLONE_ALLOWED) == "0":
        return f"{said} User namespaces are off. As root: sysctl kernel.unprivileged_userns_clone=1"
    if _value(_MAX_USER_NAMESPACES) == "0":
        return f"{said} User namespaces are off. As root: sysctl user.max_user_namespaces=15000"
    return f"{said} Run as root, allow user namespaces, or use the docker environment."
