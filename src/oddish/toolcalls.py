"""The calls of tools in a trajectory: ATIF, read leniently. Pure; standard library only."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_NAMES = 200
"""Distinct names of tools that are kept."""
NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class ToolCounts:
    total: int
    by_name: Mapping[str, int]
    """The most used first; calls of a nameless tool and of tools beyond ``MAX_NAMES`` are in the total only."""


@dataclass(slots=True)
class ToolTally:
    """Counts over the steps of one trajectory or of several that belong to one trial."""

    total: int = 0
    names: Counter[str] = field(default_factory=Counter)

    def add(self, step: object) -> None:
        """Count what a step of the agent calls; other steps, and those copied from earlier context, call nothing."""
        if not is_own(step) or not isinstance(step, Mapping) or step.get("source") != "agent":
            return
        calls = step.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if not isinstance(call, Mapping):
                continue
            self.total += 1
            name = call.get("function_name")
            name = name[:NAME_LENGTH] if isinstance(name, str) else ""
            if name and (name in self.names or len(self.names) < MAX_NAMES):
                self.names[name] += 1

    def counts(self) -> ToolCounts:
        return ToolCounts(self.total, dict(self.names.most_common()))


def is_own(step: object) -> bool:
    """Whether a step was taken in this trajectory, not copied from an earlier one."""
    return isinstance(step, Mapping) and step.get("is_copied_context") is not True


def tool_counts(*trajectory: object) -> ToolCounts | None:
    """The calls in a trajectory: one document, or those that continue each other or belong to the steps of one trial.

    None when no document has steps: nothing is known then, which is not the same as no call.
    """
    tally, known = ToolTally(), False
    for document in trajectory:
        steps = document.get("steps") if isinstance(document, Mapping) else None
        if isinstance(steps, list):
            known = True
            for step in steps:
                tally.add(step)
    return tally.counts() if known else None
