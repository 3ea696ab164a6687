"""What is known of an attempt once it is over. Pure; standard library only."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

type Ending = Literal["done", "crashed", "lost"]
type EvidenceKind = Literal["none", "empty", "ctrf"]

PASS = 1.0
"""The primary reward of an attempt that passed, exactly."""
UNNAMED_ENDINGS = {
    "lost": ("AttemptLost", "The worker that ran it is gone."),
    "crashed": ("AttemptCrashed", "Its process ended early."),
}


@dataclass(frozen=True, slots=True)
class RecordedException:
    """An exception as Harbor recorded it, or as the engine met it outside a trial."""

    type: str
    message: str
    phase: str | None
    """``creation``, ``environment_setup``, ``agent_setup``, ``agent_execution``, ``verifier``; None when unknown."""
    occurred_at: str | None = None
    """ISO 8601."""
    has_valid_reward: bool | None = None
    """Harbor's own flag; None when it recorded none."""


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """The facts that every policy judges by."""

    ending: Ending
    """``done``: it ran to its end. ``crashed``: its process ended early. ``lost``: its worker is gone."""
    cancelled: bool = False
    """The user's cancel interrupted it."""
    rewards: Mapping[str, float] | None = None
    exceptions: tuple[RecordedException, ...] = ()
    verifier_disabled: bool = False
    engine_reward_valid: bool | None = None
    """Harbor's own verdict, before the overrides; None when it recorded none."""
    reported_tests: int | None = None
    """Tests that the verifier's CTRF report accounts for; None when it left no report."""

    @property
    def evidence(self) -> EvidenceKind:
        """What backs the reward: no report, one that accounts for no test, or one with tests."""
        if self.reported_tests is None:
            return "none"
        return "ctrf" if self.reported_tests > 0 else "empty"

    @property
    def was_cancelled(self) -> bool:
        """The cancel shows in the flag or in what Harbor recorded."""
        return self.cancelled or any(exception.type == "CancelledError" for exception in self.exceptions)

    @property
    def raised(self) -> tuple[RecordedException, ...]:
        """What kept it from ending in good order; an end without a recorded exception is named."""
        if self.exceptions:
            return self.exceptions
        if self.cancelled:
            return (RecordedException("CancelledError", "", None),)
        if self.ending in UNNAMED_ENDINGS:
            return (RecordedException(*UNNAMED_ENDINGS[self.ending], None),)
        return ()


def primary_reward(rewards: Mapping[str, float] | None) -> tuple[float | None, bool]:
    """The key ``reward``, else the only key, else None; and whether it is None because there are several."""
    if not rewards:
        return None, False
    if "reward" in rewards:
        return rewards["reward"], False
    if len(rewards) == 1:
        return next(iter(rewards.values())), False
    return None, True


def to_record(facts: AttemptFacts) -> dict[str, Any]:
    """The facts as plain JSON, from which ``from_record`` restores them."""
    document = asdict(facts)
    return document | {"exceptions": list(document["exceptions"])}


def from_record(document: Mapping[str, Any]) -> AttemptFacts:
    """The facts that ``to_record`` wrote; members of later versions are ignored, missing ones have their defaults."""
    known = {name: document[name] for name in AttemptFacts.__slots__ if name in document}
    exceptions = [
        RecordedException(**{name: item[name] for name in RecordedException.__slots__ if name in item})
        for item in document.get("exceptions", ())
    ]
    return AttemptFacts(**known | {"exceptions": tuple(exceptions)})
