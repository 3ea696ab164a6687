"""From a branch or tag to its commit, asked of the repository itself."""

import asyncio
import os
import signal
from collections.abc import Iterable, Mapping

from oddish.errors import InvalidInput, Unavailable
from oddish.variants.reference import Reference

PATIENCE_SECONDS = 20.0
ANSWER_BYTES = 64 * 1024
"""Longer answers are cut: three names were asked for."""
_INHERITED = ("PATH", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "GIT_SSL_CAINFO")


class UnknownReference(InvalidInput):
    """A branch or tag that its repository does not have."""

    code = "unknown_harbor_reference"


def git_environment(protocol: str, source: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables for a git that reads no configuration, asks nobody and speaks one protocol only."""
    return {name: source[name] for name in _INHERITED if name in source} | {
        "GIT_ALLOW_PROTOCOL": protocol,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "HOME": os.devnull,
    }


async def resolve(reference: Reference, *, patience_seconds: float = PATIENCE_SECONDS) -> Reference:
    """Fix ``reference`` to a commit. Raises ``UnknownReference``, and ``Unavailable`` when nobody answers."""
    if reference.sha is not None:
        return reference
    url, ref = reference.source, reference.ref
    names = (f"refs/heads/{ref}", f"refs/tags/{ref}", f"refs/tags/{ref}^{{}}")
    try:
        process = await asyncio.create_subprocess_exec(
            *("git", "ls-remote", "--quiet", "--", url, *names),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=git_environment(url.partition(":")[0]),
            cwd="/",
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise Unavailable("The server has no git to look into repositories.", fix="Install git on it.") from error
    try:
        async with asyncio.timeout(patience_seconds):
            output, errors = await asyncio.gather(_beginning(process.stdout), _beginning(process.stderr))
            await process.wait()
    except TimeoutError as error:
        raise Unavailable(f"{url} did not answer within {patience_seconds:g} s.", fix="Try again later.") from error
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.communicate()
    if process.returncode != 0:
        said = errors.decode(errors="replace").strip().splitlines()
        raise Unavailable(
            f"The repository {url} cannot be read: {said[-1] if said else f'exit code {process.returncode}'}.",
            fix="Check the address, and that this server may reach it without signing in.",
        )
    sha = chosen_commit(output.decode(errors="replace").splitlines(), ref)
    if sha is None:
        raise UnknownReference(f"{url} has no branch or tag {ref!r}.", fix="Check the spelling.")
    return reference.resolved(sha)


async def _beginning(stream: asyncio.StreamReader | None) -> bytes:
    """The first bytes of ``stream``; the rest is read and forgotten, so that whoever writes it comes to an end."""
    kept = bytearray()
    while stream is not None and (chunk := await stream.read(ANSWER_BYTES)):
        kept += chunk[: ANSWER_BYTES - len(kept)]
    return bytes(kept)


def chosen_commit(lines: Iterable[str], ref: str) -> str | None:
    """The commit among the lines of ``git ls-remote``: of the tag, seen through to its commit, else of the branch."""
    commits = {name: sha for sha, _, name in (line.partition("\t") for line in lines)}
    for name in (f"refs/tags/{ref}^{{}}", f"refs/tags/{ref}", f"refs/heads/{ref}"):
        if name in commits:
            return commits[name]
    return None
