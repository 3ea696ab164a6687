"""One task of the zoo: what it shows, its files, and what comes of it in each environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

IMAGE = "debian:bookworm-slim"
"""What tasks stand on; a builder may put another one in its place. Needs bash, coreutils, tar and passwd."""


@dataclass(frozen=True)
class Solved:
    """The oracle earns 1."""


@dataclass(frozen=True)
class Refused:
    """Refused when it is submitted: for what stands ``where``, in these ``words``."""

    where: str
    words: str


@dataclass(frozen=True)
class Failed:
    """The trial fails; ``words`` are in its error, if they are given."""

    words: str = ""


type Outcome = Solved | Refused | Failed


@dataclass(frozen=True)
class Link:
    """A symbolic link among the files of a task."""

    target: str


@dataclass(frozen=True)
class Case:
    """A task by name. ``solve`` and ``test`` are bash; ``test`` earns the reward by ending well."""

    name: str
    shows: str
    dockerfile: str | None = ""
    """What follows FROM and WORKDIR /app; with its own FROM it is taken whole. None: no Dockerfile."""
    solve: str = "true"
    test: str = "true"
    toml: str = ""
    files: Mapping[str, str | bytes | Link] = field(default_factory=dict)
    """Below the task; ``#!`` at the beginning makes a program."""
    local: Outcome = Solved()
    docker: Outcome = Solved()
    why: str = ""
    """Where one environment does not solve it: the reason."""
    needs: frozenset[str] = frozenset()
    """``root``: a worker that may change the system. ``python``: python3 in the image. ``registry``: pip or apt.
    ``frontend``: an engine whose Dockerfile frontend knows here-documents and newer flags (Docker 23 or later)."""


_TEST = """\
#!/bin/bash
echo 0 > /logs/verifier/reward.txt
set -euo pipefail
cd /app
{test}
echo 1 > /logs/verifier/reward.txt
"""


def write(case: Case, tasks: Path, *, image: str = IMAGE) -> Path:
    """Write the directory of ``case`` below ``tasks``."""
    files: dict[str, str | bytes | Link] = {
        "task.toml": f'schema_version = "1.4"\n{case.toml}',
        "instruction.md": f"{case.shows}\n",
        "solution/solve.sh": f"#!/bin/bash\nset -euo pipefail\n{case.solve}\n",
        "tests/test.sh": _TEST.format(test=case.test),
    }
    if case.dockerfile is not None:
        own = any(line.startswith("FROM ") for line in case.dockerfile.splitlines())
        files["environment/Dockerfile"] = case.dockerfile if own else f"FROM {IMAGE}\nWORKDIR /app\n{case.dockerfile}"
    for name, content in {**files, **case.files}.items():
        path = tasks / case.name / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Link):
            path.symlink_to(content.target)
            continue
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(data.replace(IMAGE.encode(), image.encode()))
        path.chmod(0o755 if data.startswith(b"#!") else 0o644)
    return tasks / case.name
