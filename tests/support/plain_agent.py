"""Agents with one property each."""

import sys
import time
from typing import Any

from harbor.agents.base import BaseAgent

from oddish.engine import agentlogs
from oddish.transcript import Source, registry
from oddish.transcript.plain import PlainText


class _Agent(BaseAgent):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)

    @staticmethod
    def name() -> str:
        return "plain"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: Any) -> None: ...


class Talking(_Agent):
    """Writes its environment to its output and to a file."""

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        await environment.exec("echo first; env | tee /app/env")


class Blocking(_Agent):
    """Holds up the event loop."""

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        sys.stdout.write("blocking\n")
        sys.stdout.flush()
        time.sleep(600)  # noqa: ASYNC251


class Hoarding(_Agent):
    """Takes two gigabytes of memory."""

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        hoard = [bytearray(2**28) for _ in range(8)]
        del hoard


class Raising(_Agent):
    """Fails in a way nobody has a name for."""

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        raise LookupError("nothing here")


class Logging(_Agent):
    """Writes a log inside, a line more for every line that somebody says to have seen of it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        agentlogs.FETCH_SECONDS = 0.1

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        wait = "until [ -e /app/seen-$word ]; do sleep 0.05; done"
        await environment.exec(f"for word in one two; do echo $word >> /logs/agent/own.txt; {wait}; done")


class Waiting(_Agent):
    """Prints one line, and another once ``/app/heard`` is there."""

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        await environment.exec("echo one; until [ -e /app/heard ]; do sleep 0.05; done; echo two")


class Keeping(Logging):
    """Keeps its own record of what it does, which nobody copies to its logs while it runs."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        vars(registry)["ADAPTERS"] = {f"{__name__}:Keeping": KeptApart}

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        wait = "until [ -e /app/seen-one ]; do sleep 0.05; done"
        await environment.exec(f"echo one > /app/own.record; echo two > /logs/agent/own.record; {wait}")


class KeptApart(PlainText):
    sources = (Source("*.record"), Source("*.txt"))
    homes = ("/app",)
