"""Runner protocol, version 1: how a worker drives one attempt in a child process.

Two channels, both UTF-8 JSON, one object per line:

* **control** (worker <-> fork server), one for the life of the fork server, a Unix stream socket. The fork server opens
  with ``Hello``. The worker sends ``Spawn`` together with one file descriptor (SCM_RIGHTS): the child's end of a new
  socket pair. The fork server answers ``Spawned`` and, when the child has been reaped and its process group killed,
  ``Exited``. ``Kill`` ends an attempt at once; it is answered by that ``Exited`` only. End of file on the control
  socket makes the fork server kill all attempts and exit.
* **attempt** (worker <-> child), one socket pair per attempt. The worker sends exactly one ``Run`` line and keeps its
  end open until ``Exited``; end of file there means "die now", and the child kills its whole process group. ``Cancel``
  asks for an orderly end: Harbor's own cancellation, logs recovered. The child sends ``Stage``, ``Log`` and ``Logs``
  lines while it works and at most one ``Done`` as its last line; a child that exits without one has crashed.

A reader ignores unknown message types and unknown members. ``Hello`` and ``Run`` carry the version; a side that meets a
version it does not know refuses by name. Secrets travel in ``Run.env``, ``Run.agent_env`` and ``Run.registry_auth``
only, never in argv or environ.
"""

from typing import Literal, NotRequired, TypedDict

from oddish.credentials import Table

VERSION = 1
LINE_LIMIT = 16 * 1024 * 1024
"""Longest line in bytes that either side accepts."""
AGENT_LOGS = "agent"
"""In the directory of a trial, and in that of each of its steps: what the agent logged."""
WORKSPACE = "/workspace"
"""Where a seeded workspace is in the sandbox."""

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
    """Names accepted as ``Run.environment`` on this machine right now (``docker``, ``local`` ...), best first."""
    unavailable: dict[str, str]
    """Environment name -> why this machine cannot offer it and what would change that."""
    credentials: NotRequired[Table]
    """Which variables its agents take their credentials from; absent when the engine does not know."""


class Spawn(TypedDict):
    type: Literal["spawn"]
    attempt: str
    """Unique label of the execution, ``<trial_id>.<epoch>-<claim prefix>``; its end is the name of the process."""
    model: bool
    """``Run.model`` will be set: fork from the process that has Harbor's model library loaded (seconds, once)."""


class Kill(TypedDict):
    type: Literal["kill"]
    attempt: str


class Spawned(TypedDict):
    type: Literal["spawned"]
    attempt: str
    pid: int
    """Also the process group of the attempt."""


class Exited(TypedDict):
    type: Literal["exited"]
    attempt: str
    pid: int
    """0 when the child could not be started at all."""
    status: int
    """Exit code, or minus the signal that ended the child."""


class RegistryAuth(TypedDict):
    """An account at a container registry."""

    registry: str
    username: str
    token: str


class Run(TypedDict):
    type: Literal["run"]
    version: int
    attempt: str
    task_dir: str
    """Directory of the task, read-only to the attempt by convention. Absolute."""
    trials_dir: str
    """Fresh directory of this attempt; the Harbor trial directory is made inside as ``trial_name``, stray output of the
    child goes to ``runner.log`` beside it. Absolute."""
    trial_name: str
    """One path component, unique on the machine: ``<trial_id>.<epoch>-<claim prefix>`` in lower case."""
    agent: str
    """Name of an agent, or ``module:Class``."""
    model: str | None
    agent_kwargs: dict[str, object]
    agent_env: dict[str, str]
    """Variables set for the agent inside the sandbox; a value may refer to ``${NAME}`` of ``env``. Any name."""
    environment: str
    """Name of an environment, or ``module:Class``."""
    environment_kwargs: dict[str, object]
    env: dict[str, str]
    """Variables of the child process, secrets included: where agents find their credentials and the ``${NAME}``
    templates of task.toml their values. Names that steer programs on the worker (``PATH``, ``LD_*``, ``PYTHON*`` ...)
    are refused."""
    harbor: dict[str, object]
    """The submission's ``harbor`` block: members as listed in ``oddish.engine.config``, others are refused by name."""
    deadline_sec: float
    """Total wall time of the attempt, whatever phase it is in. At the deadline the trial is cancelled in an orderly
    way, a minute later the process group is killed; either way ``Done`` names it."""
    memory_mb: NotRequired[int]
    """Most memory of the child's own, in MB; what runs in its sandbox has the task's limit."""
    scratch: NotRequired[str]
    """Directory for sandbox uppers and layer cache, on disk. Absolute."""
    owner: NotRequired[str]
    """What begins the names of everything that the attempt makes on a Docker engine (``oddish.engine.containers``)."""
    workspace: NotRequired[str]
    """Directory whose content is put into ``WORKSPACE`` and verified, with the exit code of the test script kept. The
    agent is ``nop`` then. Absolute."""
    registry_auth: NotRequired[list[RegistryAuth]]
    """Logins for the docker programs of the attempt, kept in a directory of its own below ``trials_dir``."""
    correlation_id: NotRequired[str]
    """Of the request that made the trial; what the child logs begins with it."""
    stuck_episodes: NotRequired[int]
    """Episodes without progress after which terminus-2 gives up; absent: never."""


class Cancel(TypedDict):
    type: Literal["cancel"]


class StageLine(TypedDict):
    type: Literal["stage"]
    stage: Stage


class LogLine(TypedDict):
    type: Literal["log"]
    phase: Literal["agent_setup", "agent", "verification"]
    text: str


class LogsLine(TypedDict):
    """Where the agent's logs are while it runs; what it prints is then not passed on."""

    type: Literal["logs"]
    base: str
    """Directory that nothing inside the sandbox can replace. Absolute."""
    below: str
    """The folder of the logs from there. On the way may be links, which must not be followed."""


class Failure(TypedDict):
    """An exception of the attempt as recorded facts."""

    type: str
    """Class name, e.g. ``AgentTimeoutError``."""
    message: str
    phase: str | None
    """``creation`` before the trial existed, else a key of Harbor's timing (``environment_setup`` ... ``verifier``)."""
    occurred_at: str | None
    """ISO 8601 with offset."""


class Done(TypedDict):
    type: Literal["done"]
    trial_dir: str | None
    """The Harbor trial directory; None when the trial could not even be created."""
    cancelled: bool
    """A ``Cancel`` line interrupted the trial. False when it arrived too late to do so."""
    failure: Failure | None
    """Set when the trial could not be created, or ended in an exception of the trial level."""


type ToChild = Run | Cancel
type FromChild = StageLine | LogLine | LogsLine | Done
type ToForkServer = Spawn | Kill
type FromForkServer = Hello | Spawned | Exited
