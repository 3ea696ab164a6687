"""Registry logins of one attempt: a Docker configuration of its own for as long as it runs."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oddish.registries import DOCKER_HUB, RegistryLogin

VARIABLE = "DOCKER_CONFIG"
CONFIG = "config.json"
HUB_KEY = "https://index.docker.io/v1/"
"""What Docker Hub is called in Docker's configuration."""


@contextlib.contextmanager
def signed_in(logins: Sequence[RegistryLogin], directory: Path) -> Iterator[None]:
    """Let every docker program that this process starts use ``logins``; ``directory`` is made for it and removed.

    Everything else of the worker's own Docker configuration stays in force: contexts, plugins, proxies, other logins.
    """
    if not logins:
        yield
        return
    usual = os.environ.get(VARIABLE)
    source = Path(usual) if usual else Path.home() / ".docker"
    directory.mkdir(mode=0o700)
    try:
        for entry in source.iterdir() if source.is_dir() else ():
            if entry.name != CONFIG:
                (directory / entry.name).symlink_to(entry.absolute())
        descriptor = os.open(directory / CONFIG, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(with_logins(_read(source / CONFIG), logins), file)
        os.environ[VARIABLE] = str(directory)
        yield
    finally:
        if usual is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = usual
        shutil.rmtree(directory, ignore_errors=True)


def with_logins(config: Mapping[str, Any], logins: Sequence[RegistryLogin]) -> dict[str, Any]:
    """Docker's ``config`` with ``logins`` in the file itself, where no helper program is asked for them."""
    keys = {login: HUB_KEY if login.registry == DOCKER_HUB else login.registry for login in logins}
    helpers = config.get("credHelpers") or {}
    if helpers or config.get("credsStore"):
        helpers = {**helpers, **dict.fromkeys(keys.values(), "")}
    return {
        **config,
        "auths": {**(config.get("auths") or {}), **{key: {"auth": login.basic} for login, key in keys.items()}},
        **({"credHelpers": helpers} if helpers else {}),
    }


def _read(path: Path) -> dict[str, Any]:
    """What Docker itself cannot read counts as nothing, as it does there."""
    try:
        config = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}
