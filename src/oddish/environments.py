"""What is known of the environments that Harbor has, as a table that is quick to read. Standard library only.

The table is made from Harbor itself, by ``scripts/environments``; a test proves that both agree.
"""

import functools
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypedDict, cast

TABLE = Path(__file__).with_name("environments.json")
EC2 = "ec2"


class Facts(TypedDict):
    """One environment. What nobody can say without the library of its provider is None."""

    extra: str | None
    """Optional feature of Harbor that has to be installed."""
    programs: list[str]
    """Any one of them has to be there."""
    login: list[list[str]]
    """Groups of variables that say who asks; one whole group is enough."""
    files: list[str]
    """Files below the home directory, each as good as a group."""
    also: list[str]
    """Variables that are read beside them."""
    command: str | None
    """The provider's own, which makes such a file."""
    options: list[str] | None
    """Names that ``environment.kwargs`` may have."""
    required: list[str]
    """Those it must have."""
    on_the_worker: bool
    """It uses the memory of the worker's machine."""
    gpus: bool | None
    tpus: bool | None
    compose: bool | None
    """It runs tasks with services of their own."""
    no_network: bool | None
    allowlist: bool | None


type Table = dict[str, Facts]


@functools.cache
def read_environments() -> Table:
    return cast(Table, json.loads(TABLE.read_text(encoding="utf-8")))


def login_names(environment: str, further: Collection[str] = ()) -> tuple[str, ...]:
    """The variables that the provider of ``environment`` takes from its worker; ``further`` ones of the deployment."""
    facts = read_environments().get(environment)
    known = [] if facts is None else [*(name for group in facts["login"] for name in group), *facts["also"]]
    return tuple(dict.fromkeys([*known, *further]))


def login(environment: str, environ: Mapping[str, str], further: Collection[str] = ()) -> dict[str, str]:
    """Those of them that are set."""
    return {name: environ[name] for name in login_names(environment, further) if environ.get(name)}


def missing_login(environment: str, environ: Mapping[str, str], home: Path) -> str | None:
    """What a worker lacks for its provider to know it: a sentence with every variable and file that would do."""
    facts = read_environments().get(environment)
    if facts is None or not (facts["login"] or facts["files"]):
        return None
    if any(all(environ.get(name) for name in group) for group in facts["login"]):
        return None
    if any((home / file).is_file() for file in facts["files"]):
        return None
    ways = [" with ".join(group) for group in facts["login"]] + [f"~/{file}" for file in facts["files"]]
    command = f" ({facts['command']})" if facts["command"] else ""
    return f"The worker has no credentials: it takes {' or '.join(ways)}{command}."
