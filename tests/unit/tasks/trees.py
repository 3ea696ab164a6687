"""Directories for tests, written as mappings from path to content."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Link:
    """A symbolic link in a tree."""

    target: str


@dataclass(frozen=True)
class Script:
    """An executable file in a tree."""

    text: str = "#!/bin/sh\n"


type Content = str | bytes | Link | Script | None
"""None makes a directory."""

TASK: dict[str, Content] = {
    "task.toml": "",
    "instruction.md": "Do it.\n",
    "environment/Dockerfile": "FROM scratch\n",
    "tests/test.sh": Script(),
    "solution/solve.sh": Script(),
}


def plant(root: Path, tree: dict[str, Content]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for name, content in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match content:
            case None:
                path.mkdir(exist_ok=True)
            case Link(target):
                path.symlink_to(target)
            case Script(text):
                path.write_text(text)
                path.chmod(0o755)
            case bytes():
                path.write_bytes(content)
            case str():
                path.write_text(content)
    return root


def everything_in(root: Path) -> list[str]:
    """Every path below ``root``, links not followed."""
    found: list[str] = []
    for directory, directories, files in os.walk(root):
        found.extend((Path(directory) / name).relative_to(root).as_posix() for name in [*directories, *files])
    return sorted(found)
