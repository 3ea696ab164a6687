"""What a child tells its worker of the agent while it runs: where its logs are, else what it prints."""

from pathlib import Path

from harbor.environments.base import BaseEnvironment
from harbor.trial.hooks import LogEntry

from oddish.engine.outbox import Outbox
from oddish.engine.protocol import LogLine, LogsLine, Run
from oddish.engine.redaction import Redactor

AGENT_LOGS = "agent"
"""In the directory of the trial."""


class LiveLogs:
    """Of one attempt. Raises nothing: Harbor blames the trial for what a subscriber raises."""

    def __init__(self, run: Run, outbox: Outbox, redactor: Redactor) -> None:
        self._run = run
        self._outbox = outbox
        self._redactor = redactor
        self._on_disk = False

    def begin(self, environment: BaseEnvironment) -> None:
        """The agent starts, perhaps not for the first time."""
        place = self._place(environment)
        if place is not None and not self._on_disk:
            base, below = place
            self._outbox.put(LogsLine(type="logs", base=str(base), below=below))
        self._on_disk = place is not None

    def hear(self, entry: LogEntry) -> None:
        """A line that a command printed."""
        if entry.phase == "agent" and not self._on_disk:
            self._outbox.put_log(LogLine(type="log", phase=entry.phase, text=self._redactor.text(entry.text)))

    def _place(self, environment: BaseEnvironment) -> tuple[Path, str] | None:
        if getattr(environment, "auto_mounting", False):
            return Path(self._run["trials_dir"]), f"{self._run['trial_name']}/{AGENT_LOGS}"
        return getattr(environment, "logs_on_disk", None)
