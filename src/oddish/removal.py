"""Deleting and measuring trees that somebody else made. Standard library only: the sandbox's keeper imports it."""

import os

_DISCARDED = ".discarded."
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


def delete(directory: str) -> None:
    """Delete a tree that its former inhabitants may have made deep or unreadable."""
    if not os.path.lexists(directory):
        return
    remove = ["rm", "-rf", "--", directory]
    for command in (remove, ["chmod", "-R", "u+rwX", "--", directory], remove):
        _run(command)
        if not os.path.lexists(directory):
            return


def discard(directory: str) -> None:
    """Delete a tree under a name that says so: ``delete_discarded`` goes on with it should this be interrupted."""
    parent, name = os.path.split(directory)
    discarded = os.path.join(parent, _DISCARDED + name)  # noqa: PTH118
    try:
        os.rename(directory, discarded)  # noqa: PTH104
    except OSError:
        discarded = directory
    delete(discarded)


def delete_discarded(parent: str) -> None:
    """Delete what is left of the trees below ``parent`` that somebody began to discard."""
    for name in os.listdir(parent):  # noqa: PTH208
        if name.startswith(_DISCARDED):
            delete(os.path.join(parent, name))  # noqa: PTH118


def used_bytes(directory: str) -> int:
    """What a tree takes on its filesystem. What cannot be read counts nothing."""
    read, write = os.pipe()
    _run(["du", "-s", "-k", "-x", "--", directory], write)
    os.close(write)
    with os.fdopen(read, "rb") as output:
        number = output.read(64).split(b"\t")[0]
    return int(number) * 1024 if number.isdigit() else 0


def _run(command: list[str], output: int | None = None) -> None:
    actions: list[tuple[object, ...]] = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    if output is not None:
        actions.append((os.POSIX_SPAWN_DUP2, output, 1))
    os.waitpid(os.posix_spawnp(command[0], command, _ENVIRONMENT, file_actions=actions), 0)
