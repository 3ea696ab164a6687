"""What the local sandbox is made of: namespaces, overlays, system call filters, control groups."""

import contextlib
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oddish.doctor.disk import existing
from oddish.doctor.finding import Finding, ok, warning
from oddish.doctor.words import listed
from oddish.errors import Unavailable
from oddish.home import home
from oddish.sandbox import cgroup, host, syscalls
from oddish.sandbox.support import support

LOCAL = "Local sandbox"
OLDEST_BWRAP = (0, 11)
_ANSWER_SECONDS = 2.0
_USE_DOCKER = "Use the docker environment, or an ODDISH_HOME on ext4, xfs, btrfs or tmpfs."


@dataclass(frozen=True, slots=True)
class NamespaceSettings:
    """The kernel's settings about user namespaces; None where it has no such setting."""

    apparmor_restricts: str | None
    allowed: str | None
    most: str | None


def look_at_namespaces() -> Iterator[Finding]:
    settings = NamespaceSettings(
        apparmor_restricts=_setting("kernel/apparmor_restrict_unprivileged_userns"),
        allowed=_setting("kernel/unprivileged_userns_clone"),
        most=_setting("user/max_user_namespaces"),
    )
    yield judge_namespaces(settings, privileged=host.privileged())
    yield judge_filter(Path("/proc/self/status").read_text(), _unknown_machine())


def look_at_control_groups() -> Iterator[Finding]:
    versions = {hierarchy.version for hierarchy in cgroup.hierarchies()}
    yield judge_control_groups(cgroup.controllers(), versions)


def look_at_bwrap() -> Iterator[Finding]:
    path = next(iter(host.bwrap_candidates()), None)
    yield judge_bwrap(path, _run(path, "--version").stdout if path else "")


def look_at_sandbox() -> Iterator[Finding]:
    """Starts a sandbox of nothing, then one whose changes go to the disk that holds those of trials."""
    yield judge_sandbox(support().reason, privileged=host.privileged())
    if support().usable:
        directory = existing(home())
        yield judge_overlay(_overlay_failure(directory), directory, privileged=host.privileged())


def judge_namespaces(settings: NamespaceSettings, *, privileged: bool) -> Finding:
    subject = "User namespaces"
    if privileged:
        return ok(subject, "not needed: this user may mount")
    if settings.allowed == "0":
        return warning(
            subject,
            "The kernel denies them to ordinary users.",
            "As root: sysctl -w kernel.unprivileged_userns_clone=1",
        )
    if settings.most == "0":
        return warning(subject, "The kernel allows none.", "As root: sysctl -w user.max_user_namespaces=15000")
    if settings.apparmor_restricts == "1":
        return warning(
            subject,
            "AppArmor lets only programs with a profile use them.",
            "Install your distribution's bubblewrap, which has one, or as root: "
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        )
    return ok(subject, "allowed")


def judge_filter(status: str, unknown_machine: str | None) -> Finding:
    """``status`` is ``/proc/self/status``, which has a line about filters where the kernel knows them."""
    if unknown_machine is not None:
        return warning("System call filter", unknown_machine, "Use the docker environment.")
    if re.search(r"^Seccomp:", status, re.MULTILINE) is None:
        return warning(
            "System call filter",
            "This kernel has no seccomp, without which no sandbox starts.",
            "Use a kernel with CONFIG_SECCOMP_FILTER, or the docker environment.",
        )
    return ok("System call filter", "seccomp")


def judge_control_groups(found: frozenset[str], versions: set[int]) -> Finding:
    subject = "Control groups"
    missing = sorted({"memory", "pids", "cpu"} - found)
    if missing:
        return warning(
            subject,
            f"Nothing bounds the {listed(missing)} of a local trial: they are not writable for this user.",
            "Run the worker as root or in a service with Delegate=yes; in a container, mount /sys/fs/cgroup writable.",
        )
    return ok(subject, f"version {listed([str(version) for version in sorted(versions)])}: memory, processes and CPU")


def judge_bwrap(path: str | None, said: str) -> Finding:
    subject = "bubblewrap"
    if path is None:
        return warning(subject, "There is no bwrap program.", "Install 'oddish[worker]'.")
    match = re.search(r"(\d+)\.(\d+)(?:\.\d+)*", said)
    if match is None:
        return warning(subject, f"{path} does not tell its version.", "Install 'oddish[worker]', which brings one.")
    if (int(match[1]), int(match[2])) < OLDEST_BWRAP:
        needed = ".".join(map(str, OLDEST_BWRAP))
        return warning(
            subject, f"{path} is {match[0]}, older than {needed}.", "Install 'oddish[worker]', which brings one."
        )
    return ok(subject, f"{match[0]}, {path}")


def judge_sandbox(reason: str | None, *, privileged: bool) -> Finding:
    if reason is not None:
        return warning(LOCAL, reason)
    return ok(
        LOCAL, "starts, with privileges" if privileged else "starts, in a user namespace with the system read-only"
    )


def judge_overlay(failure: str | None, directory: Path, *, privileged: bool) -> Finding:
    """Root's sandboxes are made of overlays; an ordinary user's need them for what a Dockerfile's RUN has made."""
    if failure is None:
        return ok("Overlay mounts", f"work in {directory}")
    what = f"An overlay in {directory} cannot be mounted: {failure}"
    if privileged:
        return warning(LOCAL, what, _USE_DOCKER)
    return warning("Overlay mounts", f"{what} Tasks whose Dockerfile has RUN steps do not start.", _USE_DOCKER)


def _setting(name: str) -> str | None:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return None


def _unknown_machine() -> str | None:
    try:
        syscalls.program()
    except Unavailable as error:
        return error.message
    return None


def _overlay_failure(directory: Path) -> str | None:
    try:
        host.require_upper(directory)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".oddish-doctor-") as name:
            return _mount_overlay(Path(name))
    except Unavailable as error:
        return error.message
    except OSError as error:
        return f"{error.strerror}."


def _mount_overlay(scratch: Path) -> str | None:
    lower, upper, work = (scratch / name for name in ("lower", "upper", "work"))
    for directory in (lower, upper, work):
        directory.mkdir()
    options = [] if host.privileged() else ["--unshare-user", "--uid", "0", "--gid", "0"]
    overlay = ["--overlay-src", str(lower), "--overlay", str(upper), str(work), str(lower)]
    write = ["/bin/sh", "-c", f"echo > {lower}/made"]
    answer = _run(host.bwrap_candidates()[0], *options, "--ro-bind", "/", "/", *overlay, "--", *write)
    with contextlib.suppress(OSError):
        (work / "work").rmdir()  # The kernel leaves it without any permission, and nothing can list it.
    if answer.returncode == 0 and (upper / "made").exists():
        return None
    return f"{answer.stderr.strip() or 'what was written is not there'}."


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_ANSWER_SECONDS)
