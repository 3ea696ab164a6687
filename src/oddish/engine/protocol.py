"""Runner protocol, version 1: how a worker drives one attempt in a child process.

Two channels, both UTF-8 JSON, one object per line:

* **control** (worker <-> fork server), one for the life of the fork server, a Unix stream socket. The fork server opens
  with ``Hello``. The worker sends ``Spawn`` together with one file descriptor (SCM_RIGHTS): the child's end of a new
  socket pair. The fork server answers ``Spawned`` and, when the child has been reaped, ``Exited``.
* **attempt** (worker <-> child), one socket pair per attempt. The worker sends exactly one ``Run`` line and keeps its end
  open; end of file there means "die now", and the child kills its whole process group. A ``Cancel`` line asks for an
  orderly end: Harbor's own cancellation, logs recovered. The child sends ``Stage`` and ``Log`` lines while it works and at
  most one ``Done`` as its last line; a child that exits without one has crashed.

A reader ignores unknown message types and unknown members. The version is the first member of ``Hello`` and ``Run``; a
side that meets a version it does not know refuses by name. Secrets travel in ``Run.env`` only, never in argv or environ.
"""

from typing import Literal, NotRequired, TypedDict

VERSION = 1
LINE_LIMIT = 16 * 1024 * 1024
"""Longest line in bytes that either side accepts."""

type Stage = Literal["trial_started", "environment_setup", "agent_setup", "agent_running", "verification", "completed"]


class AgentInfo(TypedDict):
    """An agent that the installed engine knows by name."""

    name: str
    needs_model: bool


class Hello(TypedDict):
    type: Literal["hello"]
    version: int
    engine: str
    """Engine and its version, e.g. ``harbor/0.26.0``."""
    agents: list[AgentInfo]
    environments: list[str]
    """Names accepted as ``Run.environment`` on this machine right now: ``local``, ``docker`` ... in the order of preference."""
    unavailable: dict[str, str]
    """Environment name -> why this machine cannot offer it and what would change that."""


class Spawn(TypedDict):
    type: Literal["spawn"]
    attempt: str
    """Unique label of the execution, ``<trial_id>.<epoch>-<claim prefix>``; also in the process title and sandbox name."""


class Spawned(TypedDict):
    type: Literal["spawned"]
    attempt: str
    pid: int
    """Also the process group of the attempt."""


class Exited(TypedDict):
    type: Literal["exited"]
    attempt: str
    pid: int
    status: int
    """Exit code, or minus the signal that ended the child."""


class Run(TypedDict):
    type: Literal["run"]
    version: int
    attempt: str
    task_dir: str
    """Directory of the task, read-only to the attempt by convention. Absolute."""
    trials_dir: str
    """Fresh directory of this attempt; the Harbor trial directory is made inside as ``trial_name``. Absolute."""
    trial_name: str
    """One path component, unique on the machine: ``<trial_id>.<epoch>-<claim prefix>`` in lower case."""
    agent: str
    model: str | None
    agent_kwargs: dict[str, object]
    environment: str
    environment_kwargs: dict[str, object]
    env: dict[str, str]
    """Variables of the agent, secrets included."""
    harbor: dict[str, object]
    """The submission's ``harbor`` block (overrides, verifier.disable, artifacts, timeout multipliers ...), validated."""
    deadline_sec: float
    """Total wall time of the attempt, whatever phase it is in."""
    scratch: NotRequired[str]
    """Directory for sandbox uppers and layer cache, on disk. Absolute."""


class Cancel(TypedDict):
    type: Literal["cancel"]


class StageLine(TypedDict):
    type: Literal["stage"]
    stage: Stage


class LogLine(TypedDict):
    type: Literal["log"]
    phase: Literal["agent_setup", "agent", "verification"]
    text: str


class Failure(TypedDict):
    """An exception of the attempt as recorded facts."""

    type: str
    """Class name, e.g. ``AgentTimeoutError``."""
    message: str
    phase: str | None
    occurred_at: str | None


class Done(TypedDict):
    type: Literal["done"]
    trial_dir: str | None
    """The Harbor trial directory; None when the trial could not even be created."""
    cancelled: bool
    failure: Failure | None
    """Set when the trial could not be created, or ended in an exception of the trial level."""


type ToChild = Run | Cancel
type FromChild = StageLine | LogLine | Done
type ToForkServer = Spawn
type FromForkServer = Hello | Spawned | Exited
