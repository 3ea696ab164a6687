"""What a client says of a trial whose record is not here: facts to judge by, not a verdict. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from oddish.documents import finite_number, mapping
from oddish.engine.results import Usage
from oddish.outcome import AttemptFacts, Outcome, RecordedException, judge, to_record
from oddish.trials.recording import Report
from oddish.trials.reporting import MESSAGE_LIMIT
from oddish.trials.settlement import claimed

REPORTED_FAILURE = "ReportedFailure"
"""In place of an exception's class: the client says that the trial failed, and not of what."""

_EXCEPTION = re.compile(r"([A-Za-z_][A-Za-z0-9_.]{0,100})(?::\s*(.*))?", re.DOTALL)
_CLASS = re.compile(r"(?:.*\.)?([A-Z]\w*(?:Error|Exception|Timeout|Exceeded))")


@dataclass(frozen=True)
class Claims:
    """One trial as a client describes it."""

    agent: str
    model: str | None
    environment: str | None
    succeeded: bool
    reward: float | None
    result: Mapping[str, Any] | None
    error_message: str | None
    cancelled: bool
    input_tokens: int | None
    cache_tokens: int | None
    output_tokens: int | None
    total_steps: int | None
    cost_usd: float | None
    phase_timing: Mapping[str, Any] | None
    harbor_config: Mapping[str, Any]
    started_at: datetime | None
    finished_at: datetime | None
    external_id: str | None

    @property
    def unverified(self) -> bool:
        return mapping(self.harbor_config.get("verifier")).get("disable") is True

    def facts(self) -> AttemptFacts:
        """A success stands for a trial that raised nothing that would spoil it; it does not make a reward."""
        reward = finite_number(self.reward)
        exception = _exception(self.error_message or "", failed=not self.succeeded and not self.cancelled)
        return AttemptFacts(
            ending="done",
            cancelled=self.cancelled,
            rewards=None if reward is None else {"reward": reward},
            exceptions=() if exception is None else (exception,),
            verifier_disabled=self.unverified,
        )

    def report(self) -> tuple[Outcome, Report]:
        facts = self.facts()
        failure: dict[str, object] | None = None
        if facts.exceptions:
            exception = facts.exceptions[0]
            failure = {"type": exception.type, "message": exception.message, "phase": None, "occurred_at": None}
        return judge(facts), Report(
            failure=failure,
            facts={"judged": to_record(facts), "imported": {"external_trial_id": self.external_id, "claimed": True}},
            rewards=facts.rewards,
            result=self.result,
            phase_timing=self.phase_timing,
            spending=claimed(Usage(self.input_tokens, self.cache_tokens, self.output_tokens, self.cost_usd)),
            total_steps=self.total_steps,
        )


def _exception(message: str, *, failed: bool) -> RecordedException | None:
    """``Class: text`` names an exception; any other text only explains a failure."""
    found = _EXCEPTION.fullmatch(message.strip())
    named = _CLASS.fullmatch(found[1]) if found else None
    if found and named:
        return RecordedException(named[1], (found[2] or "")[:MESSAGE_LIMIT], None)
    return RecordedException(REPORTED_FAILURE, message.strip()[:MESSAGE_LIMIT], None) if failed else None
