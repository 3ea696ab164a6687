"""The live transcript of one attempt: what its agent writes, as numbered events, until they are stored."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from oddish.engine.protocol import LogLine, LogsLine
from oddish.queue.claim import Claim
from oddish.transcript import Event, Usage, adapter, printed
from oddish.trials.events import Entry
from oddish.trials.ledger import Spending
from oddish.worker.folders import Place
from oddish.worker.logfiles import LogFiles
from oddish.worker.metrics import LIVE_DROPPED

type Spend = Callable[[Usage], Spending]
"""What a usage costs."""

HEARD_CHARACTERS = 4 * 1024 * 1024
"""Of lines that the engine passed on and that are not read yet; what is beyond is dropped."""
PRESSING = 4
"""Of that, one part in so many does not wait for its turn."""
SEARCH_SECONDS = 4.0
"""At least between two looks for new files; known ones are looked at in between. Below the turn of those that nobody
follows, so that each of theirs finds what there is.
"""
SEARCH_ANYWAY_SECONDS = 30.0
"""After which new files are looked for though no folder has changed: not every file system says so."""
SPENDING_SECONDS = 4.0
"""At least between two checkpoints of what an attempt that goes on has spent, below that turn as well, unless it is as
much as this:
"""
SPENDING_USD = 0.05
MOST_LOOKS = 64
"""At what an agent that has ended left unread."""


class Tail:
    """Reads in whatever thread calls ``read``, one at a time; everything else is called by the event loop."""

    def __init__(
        self,
        claim: Claim,
        agent: str,
        place: Place,
        *,
        redact: Callable[[str], str],
        spend: Spend,
        max_events: int,
        hurry: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``place`` has the agent's logs, sooner or later; ``redact`` takes the secrets out of a text.

        ``hurry`` is called when much waits to be read.
        """
        self.claim = claim
        self.pending: deque[Entry] = deque()
        """Events to be stored, in their order."""
        self.spent: Spending | None = None
        """What the agent has spent, if that is to be stored."""
        self._spent_at = -math.inf
        """When it was stored last, by the clock."""
        self._spent_usd = 0.0
        self.failures = 0
        """In a row."""
        self._redact = redact
        self._adapter = adapter(agent, redact)
        self._files = LogFiles(self._adapter.sources, place)
        self._printed = printed(self._adapter)
        self._heard: list[str] = []
        self._waiting = 0
        self._searched_at = self._asked_at = -math.inf
        self._search_due = True
        self._hearing = threading.Lock()
        self._seq = 0
        self._max_events = max_events
        self._spend = spend
        self._hurry = hurry
        self._usage = Usage()
        self._over = False
        self._clock = clock

    def hear(self, line: LogLine | LogsLine) -> None:
        """Take what the engine says of the agent: what it printed, or where its logs are while it runs."""
        if line["type"] == "logs":
            self._files.prefer(Place(Path(line["base"]), line["below"]))
        elif line["phase"] == "agent":
            with self._hearing:
                if self._waiting + len(line["text"]) > HEARD_CHARACTERS:
                    LIVE_DROPPED.labels("line").inc()
                    return
                calm = self._waiting <= HEARD_CHARACTERS // PRESSING
                self._waiting += len(line["text"])
                self._heard.append(line["text"])
                if calm and self._waiting > HEARD_CHARACTERS // PRESSING:
                    self._hurry()

    def stirs(self) -> bool:
        """Whether this turn should read: most of the time an agent waits for its model."""
        return self._searches() or bool(self._heard) or self._files.changed()

    @property
    def behind(self) -> bool:
        """Whether the last look left something unread."""
        return self._files.behind

    def read(self, *, last: bool = False) -> None:
        """Take in what is new; everything, once nothing more will come."""
        self._over = last
        found = self._listen()
        for _ in range(MOST_LOOKS if last else 1):
            if not self._look(last=last):
                break
            found = True
        if last:
            self._add(self._adapter.finish())
        elif not found:
            return
        if (usage := self._adapter.usage) != self._usage:
            self._usage = usage
            spent = self._spend(usage)
            self.spent = replace(spent, model=spent.model and self._redact(spent.model))

    @property
    def checkpoint(self) -> Spending | None:
        """What the agent has spent, if that is to be stored now."""
        if self.spent is None:
            return None
        much = (self.spent.cost_usd or 0) >= self._spent_usd + SPENDING_USD
        return self.spent if much or self._over or self._clock() >= self._spent_at + SPENDING_SECONDS else None

    def stored(self, count: int, spent: Spending | None) -> None:
        """The first ``count`` of the pending events are where they belong, and so is what was spent."""
        for _ in range(count):
            self.pending.popleft()
        if spent is not None:
            self._spent_at = self._clock()
            self._spent_usd = spent.cost_usd or 0
            self.spent = None if self.spent is spent else self.spent

    def _look(self, *, last: bool) -> bool:
        found = False
        known = not (last or self._searches())
        if not known:
            self._searched_at, self._search_due = self._clock(), False
        for piece in self._files.news(known=known, last=last):
            found = True
            if piece.restarted:
                self._adapter.restart(piece.path)
            self._add(self._adapter.feed(piece.path, piece.data))
        return found

    def _searches(self) -> bool:
        now = self._clock()
        if now >= self._asked_at + SEARCH_SECONDS:
            self._asked_at = now
            self._search_due = now >= self._searched_at + SEARCH_ANYWAY_SECONDS or self._files.may_find_more()
        return self._search_due

    def _listen(self) -> bool:
        """What was heard is what the printed file has; whichever comes first is read."""
        with self._hearing:
            heard, self._heard, self._waiting = "".join(self._heard), [], 0
        if not heard or self._printed is None or not self._files.leave_out(self._printed):
            return False
        path = self._printed.glob.replace("*", "output")
        self._add(self._adapter.feed(path, heard.encode(errors="replace")))
        return True

    def _add(self, events: Iterable[Event]) -> None:
        for event in events:
            if self._seq > self._max_events:
                LIVE_DROPPED.labels("event").inc()
                continue
            self._seq += 1
            if self._seq > self._max_events:
                said = f"Only the first {self._max_events} events are shown live."
                event = Event("summary", {"text": said, "incomplete": True})
            self.pending.append(Entry(self._seq, event.kind, event.payload))
