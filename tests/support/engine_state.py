"""What is on the Docker engine, and which programs of this process speak to it."""

import subprocess
from dataclasses import dataclass

import psutil

PROGRAMS = frozenset({"docker", "docker-compose", "docker-buildx"})
OWN_NETWORK = "oddish"


def docker(*arguments: str) -> str:
    """The output of a docker command that must succeed."""
    answer = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False, timeout=120)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@dataclass(frozen=True)
class EngineState:
    """Names and ids. Images are not part of it: those of tasks are kept for the next trial."""

    containers: frozenset[str]
    networks: frozenset[str]
    volumes: frozenset[str]
    processes: frozenset[int]

    @classmethod
    def now(cls) -> "EngineState":
        return cls(
            containers=frozenset(docker("ps", "--all", "--quiet", "--no-trunc").split()),
            networks=frozenset(docker("network", "ls", "--format", "{{.Name}}").split()) - {OWN_NETWORK},
            volumes=frozenset(docker("volume", "ls", "--quiet").split()),
            processes=frozenset(process.pid for process in _below() if _name(process) in PROGRAMS),
        )


def _below() -> list[psutil.Process]:
    """What this process has started, directly or not, and what has lost its parent."""
    return psutil.Process().children(recursive=True) + psutil.Process(1).children()


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def containers(**labels: str) -> list[str]:
    """Ids of running containers with these labels; ``attempt`` stands for ``oddish.attempt``."""
    filters = [f"--filter=label=oddish.{name}={value}" for name, value in labels.items()]
    return docker("ps", "--quiet", "--no-trunc", *(filters or ["--filter=label=oddish.attempt"])).split()


def inspect(name: str, template: str) -> str:
    return docker("inspect", "--format", template, name).strip()


def runs(*command: str) -> bool:
    """Whether a process of this machine or of its containers has exactly this command line."""
    return any(command_line(process) == list(command) for process in psutil.process_iter())


def command_line(process: psutil.Process) -> list[str]:
    """Its arguments; none when it is gone."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []
