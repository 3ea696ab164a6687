"""Attempts to get out of a sandbox, each a few lines that raise ``OSError`` when they are refused.

As a program: starts a sandbox, runs every probe in it and beside it, and prints what happened as JSON:
``{"inside": {probe: [code, output]}, "outside": {...}, "after": {...}}``. Code 0: it worked; 1: it was refused.
"""

import asyncio
import json
import os
import platform
import secrets
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from oddish.sandbox import host
from oddish.sandbox.libraries import DIRECTORY as LIBRARIES
from oddish.sandbox.sandbox import Sandbox
from oddish.sandbox.spec import PATH, Bind, Command, Completed, Spec

_PRELUDE = r"""
import ctypes, errno, json, os, shutil, signal, socket, stat, subprocess, sys, time
facts = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
arm = os.uname().machine == "aarch64"

def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def call(name, *arguments):
    return check(getattr(libc, name)(*(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)))

def system_call(x86, aarch64, *arguments):
    longs = (ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)
    return check(libc.syscall(aarch64 if arm else x86, *longs))

def refuse(what):
    raise OSError(errno.EPERM, what)

def attempt():
    BODY

try:
    attempt()
except OSError as error:
    print(error)
    sys.exit(1)
"""

_PRIVILEGED = frozenset({"root"})
_BOTH = frozenset({"root", "user"})
_NEITHER: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Probe:
    """``works_outside``: the modes in which the same lines succeed beside the sandbox, which shows that they can."""

    body: str
    works_outside: frozenset[str] = _NEITHER


PROBES = {
    "mount": Probe('call("mount", b"none", b"/srv", b"tmpfs", 0, None)', _PRIVILEGED),
    "remount writable": Probe('call("mount", None, b"/proc/sys", None, 32 | 4096, None)'),
    "unmount": Probe('call("umount2", facts["unmount"].encode(), 2)', _PRIVILEGED),
    "move a mount": Probe('call("mount", b"/proc", b"/mnt", None, 8192, None)'),
    "new mount interface": Probe('system_call(430, 430, b"tmpfs", 0)', _PRIVILEGED),
    "pivot root": Probe('system_call(155, 41, b"/", b"/")'),
    "block device": Probe(
        """
    path = facts["directory"] + "/disk"
    os.mknod(path, stat.S_IFBLK | 0o600, facts["device"])
    os.open(path, os.O_RDONLY)""",
    ),
    "character device": Probe(
        'os.mknod(facts["directory"] + "/kmsg", stat.S_IFCHR | 0o600, os.makedev(1, 11))', _PRIVILEGED
    ),
    "device nodes": Probe(
        """
    expected = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd", "stdin", "stdout",
                "stderr", "core", "console"}
    found = set(os.listdir("/dev")) - expected
    found or refuse("nothing else in /dev")""",
        _BOTH,
    ),
    "physical memory": Probe('os.open("/dev/mem", os.O_RDONLY)'),
    "kernel memory": Probe('os.read(os.open("/proc/kcore", os.O_RDONLY), 64) or refuse("empty")', _PRIVILEGED),
    "kernel log": Probe('os.open("/dev/kmsg", os.O_RDONLY)', _PRIVILEGED),
    "kernel log by system call": Probe("system_call(103, 116, 10, None, 0)", _PRIVILEGED),
    "core pattern": Probe('os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)', _PRIVILEGED),
    "any setting": Probe(
        """
    for folder, _, names in os.walk("/proc/sys"):
        for name in names:
            path = os.path.join(folder, name)
            if not stat.S_IMODE(os.stat(path).st_mode) & 0o200:
                continue
            try:
                os.close(os.open(path, os.O_WRONLY))
            except OSError:
                continue
            print(path)
            return
    refuse("nothing writable in /proc/sys")""",
        _PRIVILEGED,
    ),
    "sysrq": Probe(
        """
    stat.S_ISREG(os.stat("/proc/sysrq-trigger").st_mode) or refuse("masked")
    os.open("/proc/sysrq-trigger", os.O_WRONLY)""",
        _PRIVILEGED,
    ),
    "namespaces of process 1": Probe('libc.unshare(0x200); call("setns", os.open("/proc/1/ns/mnt", os.O_RDONLY), 0)'),
    "namespaces of a process outside": Probe(
        """
    libc.unshare(0x200)
    call("setns", os.open(f"/proc/{facts['victim']}/ns/mnt", os.O_RDONLY), 0)""",
        _PRIVILEGED,
    ),
    "signal a process outside": Probe('os.kill(facts["victim"], 0)', _BOTH),
    "signal everything": Probe('os.kill(-1, signal.SIGKILL); refuse("sent to what is inside")'),
    "trace a process outside": Probe(
        """
    call("ptrace", 0x4206, facts["victim"], None, None)
    call("ptrace", 17, facts["victim"], None, None)""",
    ),
    "see a process outside": Probe(
        """
    def mentions(name):
        try:
            return facts["nonce"].encode() in open(f"/proc/{name}/cmdline", "rb").read()
        except OSError:
            return False
    seen = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid() and mentions(name)]
    seen or refuse("not visible")""",
        _BOTH,
    ),
    "state directory": Probe('print(open(facts["secret"]).read())', _BOTH),
    "state directory below a shown one": Probe('print(open(facts["shown_secret"]).read())', _PRIVILEGED),
    "home of the host": Probe('os.listdir(facts["home"])[0]', _BOTH),
    "scratch of another sandbox": Probe('os.listdir(facts["other"])', _BOTH),
    "root of another sandbox": Probe('os.listdir("/proc/%s/root" % facts["other_init"])', _PRIVILEGED),
    "own scratch": Probe('os.listdir(facts["scratch"])', _BOTH),
    "password hashes": Probe(
        """
    hashes = [line.split(":")[1] for line in open("/etc/shadow")]
    any(value.startswith("$") for value in hashes) or refuse("none")""",
    ),
    "run directory of the host": Probe(
        """
    found = set(os.listdir("/run")) - {"lock", "resolvconf", "systemd", "NetworkManager"}
    found or refuse("only fresh entries")""",
        _BOTH,
    ),
    "new user namespace": Probe('call("unshare", 0x10000000)', _BOTH),
    "new user namespace and mount": Probe(
        """
    call("unshare", 0x10000000 | 0x00020000)
    call("mount", b"none", b"/srv", b"tmpfs", 0, None)""",
        _BOTH,
    ),
    "clone into a user namespace": Probe(
        """
    pid = system_call(56, 220, 0x10000000 | 17, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)""",
        _BOTH,
    ),
    "clone3": Probe('system_call(435, 435, b"\\0" * 88, 8)'),
    "control groups": Probe(
        """
    for folder, _, names in os.walk("/sys/fs/cgroup"):
        for name in names:
            if name == "cgroup.procs" and os.access(os.path.join(folder, name), os.W_OK):
                return
    refuse("none in sight")""",
        _PRIVILEGED,
    ),
    "mount control groups": Probe('call("mount", b"none", b"/mnt", b"cgroup2", 0, None)', _PRIVILEGED),
    "leave a chroot": Probe(
        """
    os.makedirs(facts["directory"] + "/jail", exist_ok=True)
    outer = os.open("/", os.O_RDONLY)
    os.chroot(facts["directory"] + "/jail")
    os.fchdir(outer)
    for _ in range(64):
        os.chdir("..")
    os.chroot(".")
    os.listdir(facts["tests"])""",
        _PRIVILEGED,
    ),
    "open by handle": Probe(
        """
    handle = (ctypes.c_uint32 * 4)(8, 1, 2, 0)
    system_call(304, 265, os.open("/", os.O_RDONLY), ctypes.byref(handle), 0)""",
    ),
    "abstract socket of the host": Probe('socket.socket(socket.AF_UNIX).connect("\\0" + facts["nonce"])', _BOTH),
    "keyring": Probe("system_call(250, 219, 0, -3, 1)", _BOTH),
    "new key": Probe('system_call(248, 217, b"user", b"probe", b"x", 1, -2)', _BOTH),
    "packet socket": Probe("socket.socket(socket.AF_PACKET, socket.SOCK_RAW)", _PRIVILEGED),
    "hypervisor socket": Probe("socket.socket(40, socket.SOCK_STREAM)"),
    "io_uring": Probe('system_call(425, 425, 1, b"\\0" * 120)'),
    "performance events": Probe('system_call(298, 241, b"\\0" * 128, 0, -1, -1, 0)'),
    "bpf": Probe('system_call(321, 280, 0, b"\\0" * 64, 64)'),
    "kernel module": Probe('system_call(313, 273, 0, b"", 0)'),
    "set the clock": Probe("time.clock_settime(time.CLOCK_REALTIME, time.time())"),
    "host name": Probe('socket.sethostname("escaped")'),
    "swap": Probe('system_call(167, 224, b"/none", 0)'),
    "capabilities beyond the list": Probe(
        """
    sets = [line for line in open("/proc/self/status") if line.startswith("Cap")]
    values = {line.split(":")[0]: int(line.split()[1], 16) for line in sets}
    allowed = sum(1 << bit for bit in (0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 31))
    beyond = [name for name, value in values.items() if value & ~allowed]
    beyond or refuse("none")""",
        _PRIVILEGED,
    ),
    "inherited descriptors": Probe(
        """
    listing = os.open("/proc/self/fd", os.O_RDONLY)
    found = {int(name) for name in os.listdir(listing)} - {0, 1, 2, listing}
    found = {number for number in found if os.path.exists(f"/proc/self/fd/{number}")}
    found or refuse("none")""",
    ),
    "raise capabilities by an executable": Probe(
        """
    path = facts["directory"] + "/tool"
    shutil.copyfile("/usr/bin/grep", path)
    os.chmod(path, 0o755)
    os.setxattr(path, "security.capability", (0x02000001).to_bytes(4, "little") + (1 << 21).to_bytes(4, "little")
                + bytes(12))
    outcome = subprocess.run([path, "CapEff", "/proc/self/status"], capture_output=True, text=True)
    int(outcome.stdout.split()[1], 16) >> 21 & 1 or refuse("not granted")""",
    ),
}


def _source(probe: Probe) -> str:
    body = "\n".join(
        f"    {line}" if line and not line.startswith("    ") else line for line in probe.body.splitlines()
    )
    return _PRELUDE.replace("    BODY", body)


class _Stage:
    """Everything that the probes look for, set up on this machine."""

    def __init__(self, base: Path, mode: str) -> None:
        self.base = base
        self.nonce = f"escape-{secrets.token_hex(8)}"
        self.state = base / "state"
        self.state.mkdir()
        (self.state / "secret").write_text("the secret")
        self.shown = Path(tempfile.mkdtemp(prefix="oddish-escape-", dir="/opt")) if mode == "root" else self.state
        self.shown.chmod(0o755)
        (self.shown / "secret").write_text("the secret")
        self.victim = subprocess.Popen(["sleep", "600"])
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind("\0" + self.nonce)
        self.listener.listen()
        (Path.home() / self.nonce).touch()

    def facts(self, directory: str, other: Sandbox, own: Sandbox) -> str:
        device = Path("/").stat().st_dev
        return json.dumps(
            {
                "directory": directory,
                "device": device,
                "unmount": "/proc" if directory == "/tmp" else str(self.base / "mounted"),
                "victim": self.victim.pid,
                "nonce": self.nonce,
                "secret": str(self.state / "secret"),
                "shown_secret": str(self.shown / "secret"),
                "home": str(Path.home() / self.nonce) if directory == "/tmp" else str(Path.home()),
                "other": str(other.spec.directory),
                "other_init": other.init,
                "scratch": str(own.spec.directory),
                "tests": str(Path(__file__).parent),
            }
        )

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        self.listener.close()
        (Path.home() / self.nonce).unlink()
        for directory in {self.state, self.shown}:
            (directory / "secret").unlink()
            directory.rmdir()


async def _inside(sandbox: Sandbox, source: str, facts: str) -> Completed:
    python = f"/python/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    environment = {"PATH": PATH, "LD_LIBRARY_PATH": "/python/lib"}
    return await sandbox.run(Command((python, "-I", "-c", source, facts), environment), timeout=30)


def _outside(source: str, facts: str, base: Path, mode: str) -> subprocess.CompletedProcess[bytes]:
    own = [] if mode == "user" else ["unshare", "--mount", "--uts", "--propagation", "private"]
    script = 'mkdir -p "$1/mounted"; mount -t tmpfs none "$1/mounted" 2>/dev/null; shift; exec "$@"'
    return subprocess.run(
        [*own, "sh", "-c", script, "sh", str(base), sys.executable, "-I", "-c", source, facts],
        capture_output=True,
        check=False,
        timeout=30,
    )


async def _daemon(sandbox: Sandbox, nonce: str) -> None:
    script = f"""
    mkfifo /tmp/alive
    (setsid sh -c 'echo > /tmp/alive; while :; do sleep 60; : {nonce}; done' </dev/null >/dev/null 2>&1 &) &
    read line < /tmp/alive"""
    await sandbox.run(Command(("/bin/sh", "-c", script), {"PATH": PATH}))


def _alive(nonce: str) -> list[str]:
    return [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if path.parent.name != str(os.getpid()) and nonce.encode() in _read(path)
    ]


def _names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.name != LIBRARIES]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


async def run(mode: str, base: Path) -> dict[str, object]:
    stage = _Stage(base, mode)
    binds = (Bind(Path(sys.base_prefix), "/python", read_only=True),)
    hidden = (stage.state, stage.shown, base / "sandboxes")
    inside, outside = {}, {}
    try:
        sandbox, other = [
            await Sandbox.start(Spec(f"{stage.nonce}-{name}", base / "sandboxes" / name, binds=binds, hidden=hidden))
            for name in ("probed", "other")
        ]
        for name, probe in PROBES.items():
            completed = await _inside(sandbox, _source(probe), stage.facts("/tmp", other, sandbox))
            inside[name] = (completed.code, (completed.stdout + completed.stderr).decode(errors="replace").strip())
            if mode in probe.works_outside:
                control = _outside(_source(probe), stage.facts(str(base), other, sandbox), base, mode)
                outside[name] = (control.returncode, (control.stdout + control.stderr).decode(errors="replace").strip())
        again = await sandbox.run(Command(("/bin/sh", "-c", "echo usable"), {"PATH": PATH}))
        await _daemon(sandbox, f"daemon-{stage.nonce}")
        daemons = len(_alive(f"daemon-{stage.nonce}"))
        scoped = sandbox.scoped
        await other.stop()
        await sandbox.stop()
        after = {
            "usable": again.stdout.decode().strip(),
            "victim_alive": stage.victim.poll() is None,
            "daemons_before_stop": daemons,
            "daemons_after_stop": len(_alive(f"daemon-{stage.nonce}")),
            "scratch_left": _names(base / "sandboxes"),
        }
    finally:
        stage.close()
    return {
        "inside": inside,
        "outside": outside,
        "after": after,
        "scoped": scoped,
        "privileged": host.privileged(),
        "machine": platform.machine(),
    }


def main() -> None:
    mode = "root" if host.privileged() else "user"
    with tempfile.TemporaryDirectory(prefix="oddish-escape-") as name:
        base = Path(name)
        (base / "sandboxes").mkdir()
        print(json.dumps(asyncio.run(run(mode, base))))  # noqa: T201


if __name__ == "__main__":
    main()
