"""What a caller asks of a sandbox, and what it gets back from a command in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Bind:
    """A host path shown inside at ``target`` (absolute)."""

    source: Path
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one sandbox, applied where control groups are writable."""

    memory_bytes: int | None = None
    processes: int = 1024
    """Processes and threads."""
    cpu_weight: float = 1.0
    """CPUs as a share under contention with other sandboxes; all else on the machine comes first."""
    cpu_quota: float | None = None
    """CPUs as a ceiling."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One sandbox. ``directory`` must not exist: it is made with mode 0700 and deleted with the sandbox."""

    name: str
    directory: Path
    binds: tuple[Bind, ...] = ()
    hidden: tuple[Path, ...] = ()
    """Host paths that stay invisible even where they lie below a directory that is shown."""
    network: bool = True
    """False: a network namespace with nothing but a loopback interface."""
    limits: Limits = field(default_factory=Limits)
    layers: tuple[Path, ...] = ()
    """Directories of finished layers, lowest first."""


@dataclass(frozen=True, slots=True)
class User:
    """Whom a command runs as, in the sandbox's own numbering."""

    uid: int = 0
    gid: int = 0
    groups: tuple[int, ...] = (0,)
    home: str = "/root"


ROOT = User()


@dataclass(frozen=True, slots=True)
class Command:
    """``argv[0]`` is an absolute path; ``env`` is the whole environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str = "/"
    user: User = ROOT


@dataclass(frozen=True, slots=True)
class Completed:
    """``code`` is the exit code, or minus the signal that ended the command. Long output has a marker inside."""

    code: int
    stdout: bytes
    stderr: bytes
