"""Commands that become another program: the command line imports nothing of the server."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn


def become(
    module: str, arguments: Sequence[str] = (), *, settings: Mapping[str, str | int | None] | None = None
) -> NoReturn:
    """Replace this process by ``python -m module``. Settings that are None stay as they are."""
    environ = os.environ | {name: str(value) for name, value in (settings or {}).items() if value is not None}
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-P", "-m", module, *arguments], environ)  # noqa: S606
