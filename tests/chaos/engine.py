"""A Docker engine that belongs to one run alone, so that killing it hurts nobody else."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from chaos.facts import Leftover
from support.programs import Launcher, Program

BASE = "debian:bookworm-slim"
"""The image of all tasks, which the engine of this machine has: see scripts/docker-engine."""
BUILT_IN = frozenset({"bridge", "host", "none"})
SECONDS = 60.0
STARTS = 3
CLEARING_SECONDS = 10.0


class Engine:
    """dockerd with directories, a socket and a containerd of its own. Needs root; containers reach no network."""

    def __init__(self) -> None:
        # Not in the directory of the run: the path of a socket may not be long.
        self._directory = Path(tempfile.mkdtemp(prefix="oddish-engine-"))
        self.host = f"unix://{self._directory / 'docker.sock'}"
        self._launcher = Launcher()
        # Beside another engine one without a bridge would remove the bridge of that one.
        self._network = self._directory / "network"
        self._network.touch()
        subprocess.run(["unshare", f"--net={self._network}", "true"], check=True)
        command = [
            str(shutil.which("nsenter")),
            f"--net={self._network}",
            str(shutil.which("dockerd")),
            f"--host={self.host}",
            f"--data-root={self._directory / 'data'}",
            f"--exec-root={self._directory / 'exec'}",
            f"--pidfile={self._directory / 'pid'}",
            "--bridge=none",
            "--iptables=false",
            "--ip6tables=false",
        ]
        log = self._directory / "log"
        self._program = Program("engine", command, dict(os.environ), log, lambda _: self._answers(), self._launcher)

    def start(self) -> None:
        """As service managers do: tried again, should it not find the containerd of its last life in good health."""
        for left in reversed(range(STARTS)):
            self._program.launch()
            try:
                self._program.wait_ready(SECONDS)
            except AssertionError:
                if not left:
                    raise
                self._program.kill()
                self._end_containerd()
            else:
                return

    def load_base(self) -> None:
        """Copy the image that tasks build on from the engine of this machine."""
        with subprocess.Popen(["docker", "image", "save", BASE], stdout=subprocess.PIPE) as saving:
            loading = ["docker", "--host", self.host, "image", "load", "--quiet"]
            subprocess.run(loading, stdin=saving.stdout, stdout=subprocess.DEVNULL, check=True)

    def kill(self) -> None:
        """The engine alone: what runs in containers lives on until it is back."""
        self._program.kill()

    @property
    def pid(self) -> int | None:
        return self._program.pid

    def leftovers(self) -> list[Leftover]:
        networks = set(self._ask("network", "ls", "--format", "{{.Name}}")) - BUILT_IN
        return [
            *(Leftover("container", name) for name in self._ask("ps", "--all", "--format", "{{.Names}}")),
            *(Leftover("network", name) for name in sorted(networks)),
            *(Leftover("volume", name) for name in self._ask("volume", "ls", "--quiet")),
        ]

    def close(self) -> None:
        """End it with its containers, and remove everything that is its."""
        with suppress(subprocess.SubprocessError):
            if containers := self._ask("ps", "--all", "--quiet"):
                self._ask("rm", "--force", "--volumes", *containers)
        with suppress(subprocess.TimeoutExpired):
            self._program.stop(SECONDS)
        self._end_containerd()
        self._launcher.close()
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            if (point := line.split()[1]).startswith(str(self._directory)):
                subprocess.run(["umount", "--lazy", point], check=False)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _end_containerd(self) -> None:
        """It outlives an engine that was killed, and the one after that takes it over without being its parent."""
        with suppress(OSError, ValueError):
            pid = int((self._directory / "exec/containerd/containerd.pid").read_text())
            if str(self._directory) not in Path(f"/proc/{pid}/cmdline").read_text():
                return
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + CLEARING_SECONDS
            while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
                time.sleep(0.1)

    def _answers(self) -> bool:
        command = ["docker", "--host", self.host, "version"]
        return subprocess.run(command, capture_output=True, check=False, timeout=SECONDS).returncode == 0

    def _ask(self, *arguments: str) -> list[str]:
        command = ["docker", "--host", self.host, *arguments]
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
        return answer.stdout.split()


def obstacle() -> str | None:
    """Why there can be no such engine here; None where there can."""
    if os.geteuid() != 0:
        return "an engine of its own can only be started by root"
    if missing := [name for name in ("dockerd", "docker") if shutil.which(name) is None]:
        return f"there is no {missing[0]} program"
    try:
        found = subprocess.run(["docker", "image", "inspect", BASE], capture_output=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "the engine of this machine does not answer"
    return None if found.returncode == 0 else f"no engine here has {BASE}: run scripts/docker-engine"
