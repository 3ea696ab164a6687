"""The child of one attempt: reads Run, runs Harbor's Trial, reports, and ends."""

import asyncio
import os
import socket
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from harbor.trial import trial as harbor_trial
from harbor.trial.hooks import LogEntry, TrialEvent, TrialHookEvent
from harbor.trial.trial import Trial
from harbor.utils.redaction import scrub_file_text

from oddish.engine import process, rewardfiles
from oddish.engine.agentlogs import AgentLogs
from oddish.engine.agents.registry import give_up_when_stuck
from oddish.engine.config import refuse_reserved_variables, trial_config
from oddish.engine.confinement import confine
from oddish.engine.connection import Connection, ProtocolError
from oddish.engine.hosts import keep_model_host
from oddish.engine.interruption import Interruption
from oddish.engine.outbox import Outbox
from oddish.engine.protocol import VERSION, Done, Failure, Run, Stage, StageLine
from oddish.engine.redaction import Redactor, secret_values
from oddish.engine.registries import signed_in
from oddish.engine.results import TrialFacts, read_trial, shortened
from oddish.outcome import ATTEMPT_DEADLINE
from oddish.registries import RegistryLogin, login_secrets
from oddish.secrecy import SHORTEST_SECRET, credential_values

FLUSH_SEC = 30.0
LOGINS = "registry-logins"
"""Beside the trial directory, and no name of one."""
STAGES: dict[TrialEvent, Stage] = {
    TrialEvent.START: "trial_started",
    TrialEvent.ENVIRONMENT_START: "environment_setup",
    TrialEvent.AGENT_START: "agent_running",
    TrialEvent.VERIFICATION_START: "verification",
    TrialEvent.END: "completed",
}


def run_attempt(sock: socket.socket) -> None:
    """Serve one attempt connection from Run to Done. Returns when there is nothing left to do."""
    connection = Connection(sock)
    run = read_run(connection)
    if run is None:
        return
    process.write_to(Path(run["trials_dir"]) / "runner.log")
    if "correlation_id" in run:
        os.write(1, f"attempt={run['attempt']} correlation_id={run['correlation_id']}\n".encode())
    if "memory_mb" in run:
        process.limit_memory(run["memory_mb"])
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    outbox = Outbox(sock)
    outbox.put(loop.run_until_complete(Execution(run, outbox).perform(connection)))
    outbox.flush(FLUSH_SEC)


def read_run(connection: Connection) -> Run | None:
    """The first line; None when the worker went away. Raises ProtocolError for anything but a Run of this version."""
    while (messages := connection.receive()) == []:
        pass
    if messages is None:
        return None
    first = messages[0]
    if first["type"] != "run" or first.get("version") != VERSION:
        raise ProtocolError(
            f"Expected a run of protocol version {VERSION}, got {first['type']} of {first.get('version')}."
        )
    return cast(Run, first)


class Execution:
    """One trial, from its configuration to the facts it left."""

    def __init__(self, run: Run, outbox: Outbox) -> None:
        self._run = run
        self._outbox = outbox
        self._logins = [RegistryLogin(**login) for login in run.get("registry_auth", ())]
        self._redactor = Redactor(
            credential_values(run["env"]) | secret_values(run["agent_env"]) | login_secrets(self._logins)
        )
        self._trial: Trial | None = None

    async def perform(self, connection: Connection) -> Done:
        """Run the trial under the eye of the worker and the clock."""
        loop = asyncio.get_running_loop()
        work = asyncio.create_task(self._run_trial())
        interruption = Interruption(
            connection,
            deadline_sec=self._run["deadline_sec"],
            ask=lambda: loop.call_soon_threadsafe(work.cancel),
            last_words=self._say_overdue,
        )
        interruption.start()
        failure: Failure | None = None
        interrupted = False
        try:
            await work
        except asyncio.CancelledError:
            interrupted = True
        except Exception as error:  # noqa: BLE001  whatever Harbor raises becomes a fact
            traceback.print_exc()
            failure = self._failure(error)
        facts = self._facts()
        if failure is None and facts is not None and facts.exceptions:
            first = facts.exceptions[0]
            failure = Failure(type=first.type, message=first.message, phase=first.phase, occurred_at=first.occurred_at)
        if interrupted and interruption.cause == "deadline":
            failure = self._overdue()
        return self._done(cancelled=interrupted and interruption.cause == "cancel", failure=failure)

    async def _run_trial(self) -> None:
        refuse_reserved_variables(self._run["env"])
        os.environ.update(self._run["env"])
        spare_short_values()
        rewardfiles.follow_no_links()
        confine(Path(self._run["trials_dir"]))
        config = trial_config(self._run)
        config.agent = keep_model_host(config.agent)
        if "stuck_episodes" in self._run:
            give_up_when_stuck(config, self._run["stuck_episodes"])
        with signed_in(self._logins, Path(self._run["trials_dir"]) / LOGINS):
            self._trial = await Trial.create(config)
            self._subscribe(self._trial)
            await self._trial.run()

    def _subscribe(self, trial: Trial) -> None:
        """Report stages and log lines. Harbor blames the trial for what a subscriber raises: these raise nothing."""

        live = AgentLogs(self._run, self._outbox, self._redactor)

        async def on_event(event: TrialHookEvent) -> None:
            if event.event is TrialEvent.AGENT_START:
                live.begin(trial)
            else:
                live.end()
            self._report(STAGES[event.event])

        async def on_log(entry: LogEntry) -> None:
            live.hear(entry)

        for event in STAGES:
            trial.add_hook(event, on_event)
        trial.add_log_callback(on_log)

    def _report(self, stage: Stage) -> None:
        self._outbox.put(StageLine(type="stage", stage=stage))

    def _facts(self) -> TrialFacts | None:
        return read_trial(self._trial.paths.trial_dir) if self._trial is not None else None

    def _failure(self, error: Exception) -> Failure:
        """An exception that Harbor did not record: before the trial existed, or in its own bookkeeping."""
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        return Failure(
            type=type(error).__name__,
            message=shortened(self._redactor.text(str(error))),
            phase="creation" if self._trial is None else None,
            occurred_at=datetime.now(UTC).isoformat(),
        )

    def _overdue(self) -> Failure:
        return Failure(
            type=ATTEMPT_DEADLINE,
            message=f"The attempt was stopped at its total deadline of {self._run['deadline_sec']:g} s.",
            phase=None,
            occurred_at=datetime.now(UTC).isoformat(),
        )

    def _say_overdue(self) -> None:
        self._outbox.put(self._done(cancelled=False, failure=self._overdue()))
        self._outbox.flush(FLUSH_SEC)

    def _done(self, *, cancelled: bool, failure: Failure | None) -> Done:
        trial_dir = Path(self._run["trials_dir"]) / self._run["trial_name"]
        return Done(
            type="done",
            trial_dir=str(trial_dir) if trial_dir.is_dir() else None,
            cancelled=cancelled,
            failure=failure,
        )


def spare_short_values() -> None:
    """Keep Harbor from replacing values in its files that are too short to be told from ordinary text.

    A key of one letter would otherwise change every word and key of result.json.
    """

    def scrub_long_ones(path: Path, text: str, secrets: Sequence[str]) -> str:
        return scrub_file_text(path, text, [secret for secret in secrets if len(secret) >= SHORTEST_SECRET])

    vars(harbor_trial)[scrub_file_text.__name__] = scrub_long_ones
