"""What a file says is to be run, whichever format it has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oddish.cli.datasets import Dataset
from oddish.client.types import JSON, AgentConfig


@dataclass(frozen=True)
class Agent:
    """One of those that attempt each task. None: as the flags or the server have it."""

    name: str
    model: str | None = None
    n_trials: int | None = None
    environment: str | None = None
    config: AgentConfig = field(default_factory=AgentConfig)


@dataclass(frozen=True)
class Source:
    """A directory of tasks, or of one, or a dataset of a registry, and which of its tasks are meant."""

    tasks: Path | Dataset
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    limit: int | None = None


@dataclass(frozen=True)
class Sweep:
    agents: Sequence[Agent] = ()
    n_trials: int | None = None
    """Of agents that do not say."""
    environment: str | None = None
    """Of agents that name none."""
    sources: Sequence[Source] = ()
    task: str | None = None
    """The id of a task that the server has, instead of ``sources``."""
    harbor: Mapping[str, JSON] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    """By the names of parameters of ``oddish run``: what takes the place of their defaults."""
    unused: Sequence[str] = ()
    """Keys that say something and mean nothing here."""


NOTHING = Sweep()
