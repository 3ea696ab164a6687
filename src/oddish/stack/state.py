"""What a running stack says about itself. Standard library only: the command line imports it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Literal

from oddish.home import write_atomically
from oddish.stack.layout import Layout
from oddish.stack.process import Process

Phase = Literal["starting", "running", "stopping"]


@dataclass(frozen=True, slots=True)
class State:
    pid: int
    process_started: str
    url: str
    port: int
    version: str
    started_at: str
    phase: Phase
    services: Mapping[str, Process] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What a user should know about this start: another port, a moved database."""
    trouble: str | None = None
    """The service that does not stay up, and since when."""

    @property
    def supervisor(self) -> Process:
        return Process(self.pid, self.process_started)

    def write(self, layout: Layout) -> None:
        write_atomically(layout.state, json.dumps(asdict(self), indent=2).encode())


def read_state(layout: Layout) -> State | None:
    """The last written state, whether or not its processes still run; an unreadable file counts as none.

    Members that are not known are left out, so that the stack of another release can still be found and stopped.
    """
    try:
        content = json.loads(layout.state.read_bytes())
        content["services"] = {name: Process(**entry) for name, entry in content["services"].items()}
        content["notes"] = tuple(content["notes"])
        return State(**{member.name: content[member.name] for member in fields(State) if member.name in content})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
