"""Datasets of a registry: named on the command line, found and fetched by Harbor's own code in a process of its own."""

import functools
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import click

from oddish.cli.text import one_line
from oddish.errors import OddishError
from oddish.home import home, private_directory
from oddish.stack.leash import leashed
from oddish.variables import inherited

PROGRAM = (sys.executable, "-P", "-m", "oddish.engine.datasets")
REFERENCE = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?(@[A-Za-z0-9][\w.:/+-]*)?", re.ASCII)
ADDRESS = re.compile(r"https?://\S+", re.ASCII)
OF_HARBOR = ("HARBOR_", "GIT_SSL_", "GIT_HTTP_", "GIT_CONFIG_", "SSH_AUTH_SOCK")
SURROUNDINGS = {
    "GIT_HTTP_LOW_SPEED_LIMIT": "1000",
    "GIT_HTTP_LOW_SPEED_TIME": "60",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=30",
    "GIT_TERMINAL_PROMPT": "0",
    "HARBOR_TELEMETRY": "0",
    "LC_ALL": "C",
    "PYTHON_DOTENV_DISABLED": "1",
}
"""Nobody is asked anything, nothing hangs for ever, and no file above the package sets variables."""
PATIENCE = 5.0
"""Seconds between asking the process to end and killing it."""
LOG_LINES = 5
LONGEST_REASON = 1000

type Command = Callable[..., Any]


class HarborMissing(OddishError):
    """The registry code is not installed beside the command line."""

    code = "harbor_missing"


class DatasetUnavailable(OddishError):
    """A dataset that its registry does not have, or whose tasks cannot be fetched."""

    code = "dataset_unavailable"


@dataclass(frozen=True)
class Dataset:
    reference: str
    """``name@version``, ``org/name`` or ``org/name@ref``; without a version what the registry takes for the newest."""
    registry_path: Path | None = None
    registry_url: str | None = None

    @property
    def flaw(self) -> str | None:
        """Why it can be no dataset, or is in no registry."""
        if self.registry_path is not None and self.registry_url is not None:
            return "A registry path and a registry URL are two registries: give one of them."
        if self.registry_url is not None and not ADDRESS.fullmatch(self.registry_url):
            return f"The registry URL {self.registry_url!r} is no http or https address."
        if not REFERENCE.fullmatch(self.reference):
            return f"{self.reference!r} names no dataset: give name@version, or org/name and perhaps @ref."
        return None

    def __str__(self) -> str:
        return self.reference

    @property
    def registry(self) -> str:
        if self.registry_path is not None:
            return f"the registry file {self.registry_path}"
        return f"the registry at {self.registry_url}" if self.registry_url is not None else "Harbor's registry"

    def unavailable(self, reason: str) -> DatasetUnavailable:
        fix = "Check its name and version, and the registry file."
        if self.registry_path is None:
            fix = (
                "Check its name and version, and that this machine reaches the registry. Offline: --registry-path with "
                "a registry file, or -p with the directory of the tasks."
            )
        return DatasetUnavailable(f"Dataset {self.reference} cannot be had from {self.registry}: {reason}", fix=fix)


def dataset_options(command: Command) -> Command:
    """Adds ``-d`` and what names its registry; the command gets them as ``dataset``, a ``Dataset`` or None."""

    @functools.wraps(command)
    def gathering(
        *args: Any, dataset: str | None, registry_path: Path | None, registry_url: str | None, **options: Any
    ) -> Any:
        if dataset is None and (registry_path, registry_url) != (None, None):
            raise click.UsageError(
                "--registry-path and --registry-url say where a dataset is looked for: name it with -d."
            )
        found = None if dataset is None else Dataset(dataset, registry_path, registry_url)
        if found is not None and (flaw := found.flaw) is not None:
            raise click.UsageError(f"{flaw} To run a directory: -p." if Path(found.reference).exists() else flaw)
        return command(*args, dataset=found, **options)

    decorated: Command = gathering
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


_OPTIONS = (
    click.option(
        "-d",
        "--dataset",
        metavar="NAME[@VERSION]",
        help="Dataset of Harbor's registry, as name@version or org/name@ref, instead of PATH.",
    ),
    click.option(
        "--registry-path",
        metavar="FILE",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="Look for the dataset in this registry file.",
    ),
    click.option("--registry-url", metavar="URL", help="Look for the dataset in the registry file at this address."),
)


def fetch(
    dataset: Dataset,
    choose: Callable[[Sequence[str]], Sequence[int]],
    tell: Callable[[str], None] = lambda text: None,
) -> list[Path]:
    """The directories of the tasks that ``choose`` names by their places in the list of all names.

    Each is named as its task and kept in a cache; nothing of it is trusted. ``tell`` hears of each that is fetched.
    Raises ``HarborMissing``, ``DatasetUnavailable`` and whatever ``choose`` raises.
    """
    if importlib.util.find_spec("harbor") is None:
        raise HarborMissing(
            f"Dataset {dataset.reference} is looked for by Harbor's own code, and {sys.executable} has no Harbor.",
            fix="Install 'oddish[worker]' there, or name the directory of the tasks with -p.",
        )
    with tempfile.TemporaryFile("w+") as log, _finder(log) as finder:
        try:
            finder.say(_request(dataset))
            names = _member(finder.hear(), "found")
            finder.say({"chosen": list(choose(names))})
            while "fetched" in (answer := finder.hear()):
                tell(str(answer["fetched"]))
            return [Path(path) for path in _member(answer, "paths")]
        except _Failure as failure:
            raise dataset.unavailable(one_line(str(failure), LONGEST_REASON)) from failure


class _Failure(Exception):
    """Why the process has given no tasks."""


def _request(dataset: Dataset) -> Mapping[str, object]:
    registry_path = dataset.registry_path
    return {
        "reference": dataset.reference,
        "cache": str(private_directory(home()) / "datasets"),
        "directory": str(Path.cwd()),
        "registry_path": None if registry_path is None else str(registry_path.absolute()),
        "registry_url": dataset.registry_url,
    }


def _member(answer: Mapping[str, Any], name: str) -> list[str]:
    """The strings under ``name`` of an answer. Raises ``_Failure`` when it is another one."""
    if "refused" in answer:
        raise _Failure(answer["refused"])
    if not isinstance(answer.get(name), list):
        raise _Failure(f"its answer cannot be read: {json.dumps(answer)}")
    return [str(value) for value in answer[name]]


@dataclass(frozen=True)
class _Finder:
    """The process, and the lines to and from it."""

    process: subprocess.Popen[str]
    log: IO[str]

    def say(self, document: Mapping[str, object]) -> None:
        assert self.process.stdin is not None  # noqa: S101 - it is a pipe
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(document) + "\n")
            self.process.stdin.flush()

    def hear(self) -> Mapping[str, Any]:
        """Its next line. Raises ``_Failure`` when there is none, or one that is no object."""
        assert self.process.stdout is not None  # noqa: S101 - it is a pipe
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            end = " ".join(self.log.read().splitlines()[-LOG_LINES:])
            raise _Failure(f"the process that looks for it has ended. {end}")
        with suppress(ValueError):
            if isinstance(document := json.loads(line), dict):
                return document
        raise _Failure(f"its answer cannot be read: {line}")


@contextmanager
def _finder(log: IO[str]) -> Iterator[_Finder]:
    """The process, in a group of its own that ends with the context: git is a child of it."""
    kept = {name: value for name, value in os.environ.items() if inherited(name) or name.startswith(OF_HARBOR)}
    process = subprocess.Popen(
        leashed(signal.SIGTERM, *PROGRAM),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env=kept | SURROUNDINGS | {"PYTHONUTF8": "1"},
        start_new_session=True,
    )
    with process:
        try:
            yield _Finder(process, log)
        except BaseException:
            _end(process)
            raise
        finally:
            if process.stdin is not None:
                with suppress(BrokenPipeError):
                    process.stdin.close()


def _end(process: subprocess.Popen[str]) -> None:
    """Ask the process and its git to end, and kill what does not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
            return
