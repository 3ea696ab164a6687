"""What a child tells its worker of the agent while it runs: where its logs are, else what it prints.

Logs on this machine are read there by the worker. Those of other sandboxes reach it as lines of output, where the
environment passes them on, and whatever these do not say is fetched by a command in the sandbox, seldom.
"""

import asyncio
import contextlib
import contextvars
import traceback
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from harbor.environments.base import BaseEnvironment
from harbor.models.trial.paths import EnvironmentPaths
from harbor.trial.hooks import LogEntry
from harbor.trial.trial import Trial

from oddish.engine.fetching import Mirror
from oddish.engine.outbox import Outbox
from oddish.engine.protocol import AGENT_LOGS, LogLine, LogsLine, Run
from oddish.engine.redaction import Redactor
from oddish.transcript import Source, adapter, printed

FETCHED_LOGS = "live"
"""Beside the directory of the trial, and no name of one."""
ON_THE_WORKER = frozenset({"computer-1", "dspy-rlm", "nop", "terminus", "terminus-1", "terminus-2"})
"""Agents that run outside of the sandbox and write their logs there."""
SAID_BY_OUTPUT = frozenset({"cursor-cli", "opencode"})
"""Agents whose output has all that their other logs have."""

FETCH_SECONDS = 5.0
LATER_FETCH_SECONDS = 30.0
LATER_SECONDS = 300.0
"""How long an agent has run when it is looked at less often."""
FETCH_BYTES = 256 * 1024
LATER_FETCH_BYTES = 1536 * 1024
FETCH_TIMEOUT_SECONDS = 30
MOST_FAILURES = 5
"""In a row, after which nothing more is fetched."""
NO_SUCH_PROGRAM = 127


class AgentLogs:
    """Of one attempt. Raises nothing: Harbor blames the trial for what a subscriber raises."""

    def __init__(self, run: Run, outbox: Outbox, redactor: Redactor) -> None:
        self._run = run
        self._outbox = outbox
        self._redactor = redactor
        reader = adapter(run["agent"])
        self._sources, self._output = reader.sources, printed(reader)
        self._homes = [PurePosixPath(home) for home in reader.homes]
        self._on_disk = False
        self._heard = False
        self._fetches_output = False
        """Rather than to pass it on: it came in no other way when it was first looked for."""
        self._announced: set[tuple[Path, str]] = set()
        self._over = asyncio.Event()
        self._fetching: asyncio.Task[None] | None = None

    def begin(self, trial: Trial) -> None:
        """The agent starts, perhaps with another step of the task."""
        self.end()
        self._over = asyncio.Event()
        try:
            self._begin(trial.agent_environment)
        except Exception:  # noqa: BLE001 - of other releases of Harbor, too: a trial without a transcript is a trial
            traceback.print_exc()

    def _begin(self, environment: BaseEnvironment) -> None:
        places = self._places(environment)
        self._on_disk = bool(places)
        for place in places:
            self._announce(*place)
        if not places and self._run["agent"] not in ON_THE_WORKER:
            # Not in the context of the agent, whose output is passed on.
            fetching = self._fetch(environment, self._over)
            self._fetching = asyncio.create_task(fetching, context=contextvars.Context())

    def end(self) -> None:
        """The agent does not run; a command of ours that does is left to end by itself."""
        self._over.set()

    def hear(self, entry: LogEntry) -> None:
        """A line that a command printed."""
        self._heard = True
        if entry.phase == "agent" and not (self._on_disk or self._fetches_output):
            self._outbox.put_log(LogLine(type="log", phase=entry.phase, text=self._redactor.text(entry.text)))

    def _places(self, environment: BaseEnvironment) -> list[tuple[Path, str]]:
        """Where on this machine the worker can read: the logs, then where the agent keeps what it logs at its end."""
        if getattr(environment, "auto_mounting", False):
            return [(Path(self._run["trials_dir"]), f"{self._run['trial_name']}/{AGENT_LOGS}")]
        on_disk = getattr(environment, "on_disk", None)
        if on_disk is None:
            return []
        logs = on_disk(EnvironmentPaths().agent_dir)
        return [] if logs is None else [logs, *filter(None, map(on_disk, self._homes))]

    def _announce(self, base: Path, below: str) -> None:
        if (base, below) not in self._announced:
            self._announced.add((base, below))
            self._outbox.put(LogsLine(type="logs", base=str(base), below=below))

    async def _fetch(self, environment: BaseEnvironment, over: asyncio.Event) -> None:
        mirrors: dict[PurePosixPath, Mirror] = {}
        began = asyncio.get_running_loop().time()
        failures = 0
        while failures < MOST_FAILURES:
            later = asyncio.get_running_loop().time() - began > LATER_SECONDS
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LATER_FETCH_SECONDS if later else FETCH_SECONDS):
                    await over.wait()
                    return
            try:
                for folder, sources in self._wanted():
                    copy = Path(self._run["trials_dir"], FETCHED_LOGS, folder.name)
                    mirror = mirrors.setdefault(folder, Mirror(copy, ()))
                    mirror.sources = sources
                    if not await self._fetch_once(environment, folder, mirror, later=later):
                        return
                failures = 0
            except Exception:  # noqa: BLE001 - a transcript that stops is no failure of the trial
                traceback.print_exc()
                failures += 1

    async def _fetch_once(
        self, environment: BaseEnvironment, folder: PurePosixPath, mirror: Mirror, *, later: bool
    ) -> bool:
        """False where the sandbox has not what it takes."""
        script = mirror.script(str(folder), LATER_FETCH_BYTES if later else FETCH_BYTES)
        result = await environment.exec(script, user="root", timeout_sec=FETCH_TIMEOUT_SECONDS)
        if mirror.take(result.stdout or ""):
            self._announce(Path(self._run["trials_dir"]), f"{FETCHED_LOGS}/{folder.name}")
            self._fetches_output = self._fetches_output or (self._output is not None and mirror.holds(self._output))
        return result.return_code != NO_SUCH_PROGRAM

    def _wanted(self) -> Iterator[tuple[PurePosixPath, list[Source]]]:
        """By folder of the sandbox, what nobody tells us of it."""
        passed_on = self._output is None or (self._heard and not self._fetches_output)
        output = [] if passed_on else [source for source in self._sources if source == self._output]
        others = [source for source in self._sources if source != self._output]
        if self._run["agent"] in SAID_BY_OUTPUT:
            others = []
        logs = PurePosixPath(EnvironmentPaths().agent_dir)
        wanted = {logs: output if self._homes else others + output} | dict.fromkeys(self._homes, others)
        return ((folder, sources) for folder, sources in wanted.items() if sources)
