"""A running PostgreSQL server that is our child."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from oddish.errors import Unavailable
from oddish.stack.cluster import PORT, Cluster, clean_environment
from oddish.stack.logs import open_log, tail

SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    # A hundred thousand trials with their indexes; what a small stack does not use it does not take.
    "shared_buffers": "256MB",
    "work_mem": "8MB",
    "random_page_cost": "1.1",
    "max_wal_size": "512MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    # Memory in the data directory: /dev/shm is 64 MB in containers, and a logout may empty it.
    "dynamic_shared_memory_type": "mmap",
    "idle_in_transaction_session_timeout": "60s",
    "autovacuum_naptime": "20s",
    "autovacuum_vacuum_scale_factor": "0.05",
    "autovacuum_analyze_scale_factor": "0.05",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] ",
}


class Postmaster:
    def __init__(
        self, cluster: Cluster, *, log: Path, settings: Mapping[str, str], inherited: tuple[int, ...] = ()
    ) -> None:
        self._cluster = cluster
        self._log = log
        self._log_start = log.stat().st_size if log.exists() else 0
        options = {
            **SETTINGS,
            **settings,
            "unix_socket_directories": str(cluster.sockets),
            "cluster_name": cluster.name,
        }
        assignments = [part for key, value in options.items() for part in ("-c", f"{key}={value}")]
        output = open_log(log)
        try:
            self.process = subprocess.Popen(
                cluster.leashed(signal.SIGINT, "postgres", "-D", str(cluster.data), "-p", str(PORT), *assignments),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=clean_environment(),
                cwd="/",
                start_new_session=True,
                pass_fds=inherited,
            )
        finally:
            os.close(output)

    def wait_ready(self, timeout: float) -> None:
        """Return once connections are accepted; crash recovery may take its time before."""
        deadline = time.monotonic() + timeout
        while not self._ready():
            if (status := self.process.poll()) is not None:
                raise Unavailable(
                    f"PostgreSQL ended with status {status} while starting:\n{tail(self._log, since=self._log_start)}",
                    fix=f"The whole log is {self._log}; the data are in {self._cluster.data}.",
                )
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"PostgreSQL is not ready after {timeout:.0f} s:\n{tail(self._log, since=self._log_start)}",
                    fix=f"The whole log is {self._log}.",
                )
            time.sleep(0.005)

    def stop(self, timeout: float) -> None:
        """Fast shutdown, then the immediate one (recovered from at the next start), then the kill."""
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            self.process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout)
                return

    def _ready(self) -> bool:
        """PostgreSQL writes its pid and status into its lock file."""
        try:
            lines = (self._cluster.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[0] == str(self.process.pid) and lines[7].strip() == "ready"
