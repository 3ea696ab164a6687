"""Where one user's local state lives. Standard library only: the command line imports it."""

import os
import sys
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
