"""Deleting and measuring trees that somebody else made. Standard library only: the sandbox's keeper imports it."""

import os

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
