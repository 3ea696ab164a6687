"""Where one user's local state lives. Standard library only: the command line imports it."""

import contextlib
import os
import sys
import time
from pathlib import Path


def home() -> Path:
    """``ODDISH_HOME``, else the platform's per-user data directory. The directory may not exist yet."""
    configured = os.environ.get("ODDISH_HOME")
    if configured:
        return Path(configured).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "oddish"
    data_home = os.environ.get("XDG_DATA_HOME")
    base = Path(data_home) if data_home else Path.home() / ".local" / "share"
    return base / "oddish"


def private_directory(path: Path) -> Path:
    """Create ``path`` with mode 0700 and return it; an existing one keeps its content and loses foreign access."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.stat().st_mode & 0o077:
        path.chmod(0o700)
    return path


def write_atomically(path: Path, content: bytes, *, replace: bool = True) -> None:
    """A 0600 file that is there in full or not at all; without ``replace`` an existing one stays."""
    temporary = path.with_name(f".{path.name}-{os.getpid()}-{time.monotonic_ns()}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
            target.write(content)
            if not replace:
                # A key is made once: it must not be empty after a power failure.
                target.flush()
                os.fsync(target.fileno())
        if replace:
            temporary.replace(path)
        else:
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(temporary)
    finally:
        temporary.unlink(missing_ok=True)
