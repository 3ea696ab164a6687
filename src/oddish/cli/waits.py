"""Why a trial that is followed waits, which its transcript does not tell."""

import contextlib

from oddish.cli.telling import Readable
from oddish.cli.trials import detail, waiting
from oddish.client import Client
from oddish.client.live import LiveState
from oddish.errors import OddishError


class Waits:
    """Asks when a trial begins to wait, and while it does so whenever there is nothing else to tell."""

    def __init__(self, client: Client, trial_id: str, readable: Readable) -> None:
        self._client, self._trial_id, self._readable = client, trial_id, readable
        self._waiting = False

    def state(self, state: LiveState) -> None:
        self._waiting = state["harbor_stage"] is None and not state["done"]
        self.look()

    def look(self) -> None:
        """What cannot be read now is asked for again, and news that do not come end the following elsewhere."""
        if not self._waiting:
            return
        with contextlib.suppress(OddishError):
            trial = self._client.trial(self._trial_id)
            if waiting(trial):
                self._readable.waits(detail(trial))
