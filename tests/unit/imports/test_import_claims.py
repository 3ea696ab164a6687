"""What a client says of a trial is judged like what a trial recorded; its own verdict changes nothing."""

from typing import Any

import pytest

from oddish.imports.claims import REPORTED_FAILURE, Claims


def claims(**changes: Any) -> Claims:
    said: dict[str, Any] = {
        **dict.fromkeys(Claims.__dataclass_fields__),
        "agent": "oracle",
        "succeeded": True,
        "cancelled": False,
        "harbor_config": {},
    }
    return Claims(**said | changes)


@pytest.mark.parametrize(
    ("said", "status", "reasons"),
    [
        ({"reward": 0.0}, "success", ()),
        ({"succeeded": False, "reward": 1.0}, "failed", (REPORTED_FAILURE,)),
        ({"succeeded": False, "reward": 1.0, "error_message": "it broke: badly"}, "failed", (REPORTED_FAILURE,)),
        ({"succeeded": False, "reward": 1.0, "error_message": "AgentTimeoutError: 60 s"}, "success", ()),
        ({"reward": 1.0, "error_message": "RuntimeError: container is gone"}, "failed", ("RuntimeError",)),
        ({"reward": 1.0, "error_message": "openai.RateLimitError"}, "failed", ("rate_limited",)),
        ({"reward": 1.0, "error_message": "a remark"}, "success", ()),
        ({}, "failed", ("no_reward",)),
        ({"harbor_config": {"verifier": {"disable": True}}}, "success", ("verification_disabled",)),
        ({"reward": 1.0, "cancelled": True}, "cancelled", ("cancelled",)),
        ({"reward": float("nan")}, "failed", ("no_reward",)),
    ],
)
def test_a_claimed_trial_is_judged_by_its_facts(said: dict[str, Any], status: str, reasons: tuple[str, ...]) -> None:
    outcome, report = claims(**said).report()
    assert (outcome.status, outcome.reasons) == (status, reasons)
    assert report.facts["imported"] == {"external_trial_id": None, "claimed": True}
