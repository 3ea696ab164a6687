"""A program that starts a sandbox with a background process, says so, and waits to be killed."""

import asyncio
import sys
from pathlib import Path

from oddish.sandbox.sandbox import Sandbox
from support.sandbox_kit import shell, spec


async def _main(name: str, scratch: Path) -> None:
    sandbox = await Sandbox.start(spec(name, scratch))
    daemon = f"setsid sh -c 'echo > /tmp/alive; sleep 600; : {name}' >/dev/null 2>&1 &"
    await sandbox.run(shell(f"mkfifo /tmp/alive; {daemon} read line < /tmp/alive"))
    print("started", flush=True)  # noqa: T201
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], Path(sys.argv[2])))
