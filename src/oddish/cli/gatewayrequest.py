"""What ``oddish gateway`` asks for, from its options or a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import click

from oddish.cli.pairs import split_values, split_variables
from oddish.client.gatewayjobs import GatewayAgent, HarborExtensions
from oddish.client.types import JSON
from oddish.errors import InvalidInput


def request_of(
    archive: str | None,
    file: Path | None,
    slug: str | None,
    about: Mapping[str, object],
    *,
    needed: Mapping[str, str] = {},
) -> dict[str, object]:
    """The body. ``about`` are the members that options say, None for those that were not given; ``needed`` are members
    and the options that give them. Raises ``click.UsageError``, and ``InvalidInput`` for the file."""
    said = {name: value for name, value in about.items() if value is not None}
    if file is not None:
        if archive is not None or slug is not None or said:
            raise click.UsageError("-f has the whole request: leave out ARCHIVE_URL and the options about it.")
        return dict(_read(file))
    if archive is None:
        raise click.UsageError("Give ARCHIVE_URL, or the whole request with -f.")
    for name, option in needed.items():
        if name not in said:
            raise click.UsageError(f"Missing option '{option}'.")
    return {"task_slug": slug or slug_of(archive), "metadata": {"task_archive_url": archive}, **said}


def slug_of(archive: str) -> str:
    """The name of the zip in an address."""
    return PurePosixPath(unquote(urlsplit(archive).path)).stem or "task"


def agent_of(
    name: str | None,
    model: str | None,
    *,
    n_concurrent: int | None,
    env: str | None,
    variables: Sequence[str],
    settings: Sequence[str],
) -> GatewayAgent | None:
    """The agent of a run; None where no option is about one."""
    extensions: HarborExtensions = {}
    if variables:
        extensions["agent_env"] = split_variables(variables, "--ae")
    if settings:
        extensions["kwargs"] = split_values(settings, "--ak")
    if n_concurrent is not None:
        extensions["n_concurrent"] = n_concurrent
    if env is not None:
        extensions["environment"] = env
    if name is None:
        if model is not None or extensions:
            raise click.UsageError("Missing option '-a': the others are about the agent.")
        return None
    agent: GatewayAgent = {"name": name, "harbor_agent": name}
    if model is not None:
        agent["model"] = model
    if extensions:
        agent["harbor_extensions"] = extensions
    return agent


def _read(file: Path) -> Mapping[str, JSON]:
    from oddish.cli.sweep.document import read_document
    from oddish.tasks.plainyaml import Unreadable

    try:
        return read_document(file).values
    except Unreadable as error:
        raise InvalidInput(f"{file} {error}.") from None
