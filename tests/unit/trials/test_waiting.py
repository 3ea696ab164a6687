from datetime import UTC, datetime
from typing import Any

from oddish.trials.waiting import reason

CALM: dict[str, Any] = {
    "state": "ready",
    "run_at": None,
    "environment": "docker",
    "served": True,
    "key": "openai/gpt-5",
    "paused": False,
    "full": False,
    "limit": 4,
    "full_cap": None,
    "free": True,
}


def test_a_trial_that_is_merely_in_line_has_no_reason() -> None:
    assert reason(**CALM) is None


def test_what_holds_a_trial_back_is_named() -> None:
    at = datetime(2030, 1, 1, 12, 30, tzinfo=UTC)
    assert reason(**{**CALM, "served": False}) == "no live worker offers environment docker"
    assert reason(**{**CALM, "paused": True}) == "the queue of openai/gpt-5 is paused"
    assert reason(**{**CALM, "full": True}) == "4 trials of openai/gpt-5 may run at once, and do"
    assert (
        reason(**{**CALM, "full_cap": "provider:openai"}) == "as many trials of provider openai run as may run at once"
    )
    assert "this organisation" in str(reason(**{**CALM, "full_cap": "org:o1"}))
    assert reason(**{**CALM, "free": False}) == "all workers are busy"
    assert "12:30:00" in str(reason(**{**CALM, "state": "scheduled", "run_at": at}))
