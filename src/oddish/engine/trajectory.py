"""Figures from the trajectories of a finished trial: ATIF, any version 1, read leniently. No Harbor here.

Written next to untrusted code, so nothing found here raises: what is not as agreed does not count.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oddish.documents import mapping, mappings, moment, read_object, text
from oddish.toolcalls import MAX_NAMES, NAME_LENGTH, ToolTally, is_own

TRAJECTORY_LIMIT = 32 * 1024 * 1024
MAX_PARTS = 16
"""Files of one trajectory that continue each other."""
SOURCES = ("system", "user", "agent")
OTHER = "other"

_VERSION = re.compile(r"ATIF-v1\.\d{1,3}")


@dataclass(frozen=True, slots=True)
class TrajectoryMetrics:
    """What the main agent did; the inner steps of sub-agents and steps copied from earlier context do not count."""

    steps: int
    steps_by_source: Mapping[str, int]
    """For ``system``, ``user``, ``agent`` and, if there are any of another source, ``other``."""
    tool_calls: int
    tool_calls_by_name: Mapping[str, int]
    """The most used first; calls of a nameless tool and of tools beyond ``MAX_NAMES`` are in the total only."""
    duration_sec: float | None
    """From the first to the last timestamp; for a multi-step trial the sum over its steps."""
    models: tuple[str, ...]
    """The names of the models that answered, in the order of their first use, at most ``MAX_NAMES``."""


def trajectory_metrics(directory: Path, steps: Sequence[str] = ()) -> TrajectoryMetrics | None:
    """The figures of ``agent/trajectory.json``, or of those of all ``steps``; None when there is no such trajectory."""
    tally = _Tally()
    for step in dict.fromkeys(steps) or [None]:
        tally.add(trajectory(directory, step))
    return tally.metrics() if tally.trajectories else None


class _Tally:
    def __init__(self) -> None:
        self.trajectories = 0
        self._sources: Counter[str] = Counter()
        self._tools = ToolTally()
        self._models: dict[str, None] = {}
        self._durations: list[float] = []

    def add(self, parts: Iterator[dict[str, Any]]) -> None:
        """One trajectory, from the documents that continue each other."""
        moments: list[float] = []
        for part in parts:
            self.trajectories += 1
            default = _name(mapping(part.get("agent")).get("model_name"))
            own = [step for step in mappings(part.get("steps")) if is_own(step)]
            answered = [step for step in own if step.get("source") == "agent"]
            for step in own:
                source = step.get("source")
                self._sources[source if source in SOURCES else OTHER] += 1
                if (at := moment(step.get("timestamp"))) is not None:
                    moments.append(at)
            for step in answered:
                self._tools.add(step)
                self._use(_name(step.get("model_name")) or default)
        if moments:
            self._durations.append(max(moments) - min(moments))

    def _use(self, model: str | None) -> None:
        if model is not None and len(self._models) < MAX_NAMES:
            self._models[model] = None

    def metrics(self) -> TrajectoryMetrics:
        other = {OTHER: self._sources[OTHER]} if self._sources[OTHER] else {}
        tools = self._tools.counts()
        return TrajectoryMetrics(
            steps=self._sources.total(),
            steps_by_source={source: self._sources[source] for source in SOURCES} | other,
            tool_calls=tools.total,
            tool_calls_by_name=tools.by_name,
            duration_sec=round(sum(self._durations), 6) if self._durations else None,
            models=tuple(self._models),
        )


def trajectory(directory: Path, step: str | None = None) -> Iterator[dict[str, Any]]:
    """The documents of the trajectory of a trial, or of one of its steps: the first, and what it says continues it."""
    folder = "agent" if step is None else f"steps/{step}/agent"
    name, seen = "trajectory.json", set[str]()
    while name not in seen and len(seen) < MAX_PARTS:
        seen.add(name)
        document, _ = read_object(directory, f"{folder}/{name}", TRAJECTORY_LIMIT)
        version = text(document.get("schema_version")) or ""
        if not (_VERSION.fullmatch(version) and isinstance(document.get("steps"), list)):
            return
        yield document
        following = text(document.get("continued_trajectory_ref"))
        if following is None or "/" in following:
            return
        name = following


def _name(value: object) -> str | None:
    return (text(value) or "")[:NAME_LENGTH] or None
