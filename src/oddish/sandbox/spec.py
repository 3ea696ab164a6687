"""What a caller asks of a sandbox, and what it gets back from a command in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_NO_ID = 2**32 - 1
"""The kernel's word for "leave it as it is", where a user or group is expected."""
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
    """None: most of the machine's."""
    processes: int = 1024
    """Processes and threads."""
    cpu_weight: float = 1.0
    """CPUs as a share under contention with other sandboxes; all else on the machine comes first."""
    cpu_quota: float | None = None
    """CPUs as a ceiling."""
    disk_bytes: int | None = None
    """What may be written; more ends the sandbox. Watched everywhere, with control groups or without."""


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
    libraries: Path | None = None
    """Copies of host files that are shown instead of them (see ``libraries``)."""
    locks: tuple[int, ...] = ()
    """Open descriptors that the sandbox's keeper holds for as long as it lives: locks on layers and copies."""


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

    def flaw(self) -> str | None:
        """Why no machine could ever start it, naming what is wrong but no variable's value; None when one could."""
        for name, value in self.env.items():
            if not name or "=" in name or not _is_passable(name):
                return f"The environment variable {name!r} has an empty name, or '=', NUL or a lone surrogate in it."
            if not _is_passable(value):
                return f"The value of the environment variable {name!r} has NUL or a lone surrogate in it."
        if not self.argv or not self.argv[0]:
            return "The command names no program."
        for number, argument in enumerate(self.argv):
            if not _is_passable(argument):
                return f"Argument {number} of {self.argv[0]!r} has NUL or a lone surrogate in it."
        if not _is_passable(self.cwd):
            return f"The directory {self.cwd!r} has NUL or a lone surrogate in it."
        numbers = (self.user.uid, self.user.gid, *self.user.groups)
        if beyond := [number for number in numbers if not 0 <= number < _NO_ID]:
            return f"There is no user or group with the number {beyond[0]}."
        return None


def _is_passable(text: str) -> bool:
    try:
        return b"\0" not in text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True, slots=True)
class Completed:
    """``code`` is the exit code, or minus the signal that ended the command. Long output has a marker inside."""

    code: int
    stdout: bytes
    stderr: bytes
