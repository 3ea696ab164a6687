"""The report of an attempt that is recorded: from its directory, the evidence in it and the facts it is judged by.

The directory was written next to untrusted code: texts are stripped of secrets and places, and bounded. Pure.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from oddish.engine.evidence import TrialEvidence, with_texts
from oddish.engine.messages import readable, without_places
from oddish.engine.redaction import Redactor
from oddish.engine.results import TrialFacts, agent_seconds
from oddish.outcome import AttemptFacts, to_record
from oddish.storable import storable
from oddish.storage.manifest import Manifest
from oddish.trials.ledger import Spending
from oddish.trials.recording import Report

MESSAGE_LIMIT = 8192


@dataclass(frozen=True)
class Tidy:
    """Takes secrets, and the places of a machine, out of messages."""

    redactor: Redactor
    places: Sequence[Path]

    def text(self, text: str) -> str:
        return self.redactor.text(text)

    def message(self, message: str) -> str:
        return without_places(self.text(message), self.places)[:MESSAGE_LIMIT]


def report_of(
    facts: TrialFacts | None,
    evidence: TrialEvidence,
    judged: AttemptFacts,
    tidy: Tidy,
    manifest: Manifest | None,
    prefix: str,
    spending: Spending,
) -> Report:
    deciding = judged.exceptions[0] if judged.exceptions else None
    failure = None
    if deciding is not None:
        message = readable(deciding.type, tidy.message(deciding.message))[:MESSAGE_LIMIT]
        failure = storable(asdict(deciding) | {"message": message})
    timing = {phase: asdict(times) for phase, times in facts.timing.items()} if facts else {}
    trajectory = storable(with_texts(asdict(evidence.trajectory), tidy.text)) if evidence.trajectory else {}
    return Report(
        failure=failure,
        facts=(_plain(facts, tidy) if facts else {})
        | ({"trajectory": trajectory} if trajectory else {})
        | {"judged": _tidied(to_record(judged), tidy)},
        rewards=storable(judged.rewards),
        result=storable(with_texts(evidence.result, tidy.text)),
        phase_timing=timing or None,
        spending=spending,
        total_steps=trajectory.get("steps"),
        total_tool_calls=trajectory.get("tool_calls"),
        tool_counts=trajectory.get("tool_calls_by_name"),
        duration_seconds=trajectory.get("duration_sec") or agent_seconds(facts),
        has_trajectory=facts.has_trajectory if facts else False,
        artifact_prefix=prefix if manifest else None,
        artifact_files=len(manifest.files) if manifest else 0,
        artifact_bytes=sum(entry.size for entry in manifest.files) if manifest else 0,
    )


def _plain(facts: TrialFacts, tidy: Tidy) -> dict[str, object]:
    """The facts as JSON, with tidy messages of bounded length."""
    document = asdict(facts)
    document["steps"] = [_tidied(step, tidy) for step in document["steps"]]
    return _tidied(document, tidy)


def _tidied(document: dict[str, Any], tidy: Tidy) -> dict[str, Any]:
    for exception in [*document.get("exceptions", ()), document.get("exception")]:
        if exception is not None:
            exception["message"] = tidy.message(exception["message"])
    stored: dict[str, Any] = storable(document)
    return stored
