"""Carrying out a plan in a running sandbox."""

import contextlib
from collections.abc import Iterator

from oddish.errors import InvalidInput, InvalidTask
from oddish.sandbox import host, users
from oddish.sandbox.context import Context
from oddish.sandbox.copying import copy, shell
from oddish.sandbox.failures import CommandFailed
from oddish.sandbox.likeness import same_system
from oddish.sandbox.plan import Copy, MakeDirectory, Plan, Run, Step
from oddish.sandbox.sandbox import Sandbox
from oddish.sandbox.spec import PATH, Command
from oddish.sandbox.streams import OutputLine
from oddish.sandbox.transfer import TransferFailed

_PROGRAMS = ("sh", "env", "sleep", "tar", "cat", "mkdir", "chmod", "dirname")
"""What starting a sandbox and copying into it and out of it takes."""
_TAIL_CHARACTERS = 4000
_UNPRIVILEGED = (
    " The system is read-only in a sandbox that an ordinary user starts: run the worker as root or use docker."
)


class BuildFailed(RuntimeError):
    """A step of the Dockerfile ended with an error; the message has its line and the end of its output."""


async def carry_out(
    plan: Plan,
    context: Context,
    sandbox: Sandbox,
    on_line: OutputLine | None = None,
) -> None:
    """Raises ``BuildFailed`` for what the Dockerfile is to blame for, ``CommandFailed`` for what it is not."""
    for step in plan.steps:
        with _blamed(f"Dockerfile line {step.line}", sandbox):
            await _carry_out(step, context, sandbox, plan.image, on_line)
    if plan.steps:
        with _blamed("After the Dockerfile's last step", sandbox):
            await _require_programs(sandbox)


@contextlib.contextmanager
def _blamed(where: str, sandbox: Sandbox) -> Iterator[None]:
    try:
        yield
    except InvalidTask as error:
        raise BuildFailed(str(error)) from error
    except (InvalidInput, TransferFailed) as error:
        raise BuildFailed(f"{where}: {error}") from error
    except CommandFailed as error:
        if sandbox.ended or error.exhausted:
            raise
        raise BuildFailed(f"{where}: a command cannot start: {error}") from error


async def _carry_out(step: Step, context: Context, sandbox: Sandbox, image: str, on_line: OutputLine | None) -> None:
    match step:
        case MakeDirectory():
            await shell(sandbox, 'mkdir -p -- "$1"', step.path)
        case Run():
            await _run(sandbox, step, image, on_line)
        case Copy():
            await copy(sandbox, step, context)


async def _require_programs(sandbox: Sandbox) -> None:
    search = 'for name; do command -v "$name" >/dev/null || echo "$name"; done'
    outcome = await sandbox.run(Command(("/bin/sh", "-c", search, "sh", *_PROGRAMS), {"PATH": PATH}))
    missing = outcome.stdout.decode(errors="replace").split()
    if missing or outcome.code > 0:
        what = ", ".join(missing) or "a working /bin/sh"
        raise BuildFailed(f"The Dockerfile's steps leave the sandbox without {what}, which it needs. Keep it.")


async def _run(
    sandbox: Sandbox,
    step: Run,
    image: str,
    on_line: OutputLine | None,
) -> None:
    user = await users.resolve(sandbox, step.user)
    environment = {"HOME": user.home} | dict(step.env)
    argv = step.argv
    if not argv[0].startswith("/"):
        argv = ("/usr/bin/env", "--", *argv)
    outcome = await sandbox.run(Command(argv, environment, step.cwd, user), on_line=on_line)
    if outcome.code != 0:
        output = (outcome.stdout + outcome.stderr).decode(errors="replace").strip()[-_TAIL_CHARACTERS:]
        hint = _hint(output, image)
        raise BuildFailed(f"Dockerfile line {step.line}: RUN ended with code {outcome.code}.{hint}\n{output}")


def _hint(output: str, image: str) -> str:
    if "Read-only file system" in output and not host.privileged():
        return _UNPRIVILEGED
    if image == "scratch" or same_system(image, host.release()):
        return ""
    return f" It ran on this machine's {host.system_name()} in place of {image}; -e docker uses the image."
