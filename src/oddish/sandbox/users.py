"""Whom a command runs as: names and ids looked up in the sandbox's own files."""

from oddish.errors import InvalidInput
from oddish.sandbox import host
from oddish.sandbox.sandbox import Sandbox
from oddish.sandbox.spec import PATH, ROOT, Command, User

_SEPARATOR = b"\0"


def parse(wanted: str, passwd: str, group: str) -> User:
    """``name``, ``uid``, ``name:group`` or ``uid:gid`` to a user, as container engines read it.

    Raises ``InvalidInput`` for a name that the files do not have.
    """
    name, _, group_name = wanted.partition(":")
    users = [fields for line in passwd.splitlines() if len(fields := line.split(":")) >= 7]
    groups = [fields for line in group.splitlines() if len(fields := line.split(":")) >= 4]
    found = next((fields for fields in users if name in (fields[0], fields[2])), None)
    if found is None and not name.isdigit():
        raise InvalidInput(f"There is no user {name!r} in the sandbox.", fix="Create it in the Dockerfile (useradd).")
    uid, gid, home = (int(found[2]), int(found[3]), found[5]) if found else (int(name), 0, "/")
    if group_name:
        match = next((fields for fields in groups if group_name in (fields[0], fields[2])), None)
        if match is None and not group_name.isdigit():
            raise InvalidInput(
                f"There is no group {group_name!r} in the sandbox.", fix="Create it in the Dockerfile (groupadd)."
            )
        return User(uid, int(match[2]) if match else int(group_name), (), home or "/")
    member = found[0] if found else None
    extra = sorted({int(fields[2]) for fields in groups if member in fields[3].split(",")} | {gid})
    return User(uid, gid, tuple(extra), home or "/")


async def resolve(sandbox: Sandbox, wanted: str | int | None) -> User:
    """``None`` is root. Without privileges root is the only user there is: others raise ``InvalidInput``."""
    text = "root" if wanted is None else str(wanted)
    if text in {"root", "0", "root:root", "0:0"}:
        return ROOT
    if not host.privileged():
        raise InvalidInput(
            f"The user {text!r} does not exist in a sandbox that an ordinary user starts: only root does.",
            fix="Run the worker as root, or use the docker environment.",
        )
    reading = Command(("/bin/sh", "-c", r"cat /etc/passwd; printf '\0'; cat /etc/group"), {"PATH": PATH})
    passwd, _, group = (await sandbox.run(reading)).stdout.partition(_SEPARATOR)
    return parse(text, passwd.decode(errors="replace"), group.decode(errors="replace"))
