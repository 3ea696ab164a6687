"""Agents that a user wrote: one does the wrong thing, the other crashes until somebody has mended it."""

import asyncio
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent


class _Scripted(BaseAgent):
    def version(self) -> str:
        return "1"

    async def setup(self, environment: Any) -> None: ...


class Failing(_Scripted):
    @staticmethod
    def name() -> str:
        return "scripted-failing"

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        await environment.exec("echo wrong > /app/answer")


class Crashing(_Scripted):
    """Begins once ``place/released`` exists, and needs ``place/mended``."""

    def __init__(self, *arguments: Any, place: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._place = Path(place)

    @staticmethod
    def name() -> str:
        return "scripted-crashing"

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        while not (self._place / "released").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.05)
        if not (self._place / "mended").exists():
            raise LookupError("nothing here")
        await environment.exec("echo right > /app/answer")
