"""The outcome of a job of one trial, for every combination of what can be recorded about it."""

from itertools import product

import pytest

from oddish.outcome import (
    NOT_RETRYABLE,
    RETRYABLE,
    VALID_REWARD,
    AttemptFacts,
    RecordedException,
    StrictTrial,
    evidence_required,
    strict_outcome,
)

REWARDS = {"reward 1": {"reward": 1.0}, "reward 0": {"reward": 0.0}, "no reward": None}
REPORTS = {"full": 4, "empty": 0, "absent": None}
EXCEPTIONS = [None, *sorted(VALID_REWARD | RETRYABLE | NOT_RETRYABLE), "RuntimeError", "SomethingNew"]
JUDGED = {
    # reward, report, raised, evidence required: status of the job, status of the outcome, believed?
    # A reward with a named check behind it is believed, whatever its value and whoever is trusted.
    (True, "full", False, True): ("succeeded", "scored", True),
    (True, "full", False, False): ("succeeded", "scored", True),
    # A report that accounts for no test contradicts itself: refused even with the override. The work was done.
    (True, "empty", False, True): ("succeeded", "unverified", False),
    (True, "empty", False, False): ("succeeded", "unverified", False),
    # No report: the claim is withheld, which is no failure of the job; the override trusts the reward alone.
    (True, "absent", False, True): ("succeeded", "unverified", False),
    (True, "absent", False, False): ("succeeded", "scored", True),
    # Nothing was scored: invalid, and no trial produced a real result.
    (False, "full", False, True): ("failed", "unverified", False),
    (False, "full", False, False): ("failed", "unverified", False),
    (False, "empty", False, True): ("failed", "unverified", False),
    (False, "empty", False, False): ("failed", "unverified", False),
    (False, "absent", False, True): ("failed", "unverified", False),
    (False, "absent", False, False): ("failed", "unverified", False),
    # A trial that raised cannot be scored, even with a reward and a report; it is no real result.
    (True, "full", True, True): ("failed", "errored", False),
    (True, "full", True, False): ("failed", "errored", False),
    (True, "empty", True, True): ("failed", "errored", False),
    (True, "empty", True, False): ("failed", "errored", False),
    (True, "absent", True, True): ("failed", "errored", False),
    (True, "absent", True, False): ("failed", "errored", False),
    (False, "full", True, True): ("failed", "errored", False),
    (False, "full", True, False): ("failed", "errored", False),
    (False, "empty", True, True): ("failed", "errored", False),
    (False, "empty", True, False): ("failed", "errored", False),
    (False, "absent", True, True): ("failed", "errored", False),
    (False, "absent", True, False): ("failed", "errored", False),
}


@pytest.mark.parametrize("required", [True, False], ids=["evidence required", "reward trusted"])
@pytest.mark.parametrize(("reward", "report"), [*product(REWARDS, REPORTS)])
def test_every_exception_comes_to_the_tables_outcome(reward: str, report: str, required: bool) -> None:
    for exception in EXCEPTIONS:
        raised = (RecordedException(exception, "why", "agent_execution"),) if exception else ()
        facts = AttemptFacts("done", rewards=REWARDS[reward], exceptions=raised, reported_tests=REPORTS[report])
        outcome = strict_outcome({"codex": [StrictTrial("one", facts)]}, require_verifier_evidence=required)
        scored, errored = reward != "no reward", exception is not None
        assert (outcome.job_status, outcome.status, outcome.valid_for_scoring) == JUDGED[
            scored, report, errored, required
        ], exception
        # errored: raised, even with a reward; scored: has one; successful: scored and not errored.
        assert (outcome.scored, outcome.errored, outcome.successful) == (scored, errored, scored and not errored)
        assert outcome.exceptions == ((exception,) if exception else ())
        assert outcome.evidence == {"full": "ctrf", "empty": "empty", "absent": "none"}[report]
        assert outcome.tests == (REPORTS[report] or 0)
        assert bool(outcome.reasons) is not outcome.valid_for_scoring
        assert all(reason.startswith("codex: ") for reason in outcome.reasons)
        assert not errored or exception in outcome.reasons[0]
        # Rewards are never rewritten.
        assert outcome.details[0]["reward"] == (REWARDS[reward] or {}).get("reward")


@pytest.mark.parametrize(
    ("requested", "deployed", "required"),
    [(None, True, True), (None, False, False), (True, False, True), (False, True, False)],
)
def test_what_the_request_says_goes_before_the_deployment(
    requested: bool | None, deployed: bool, required: bool
) -> None:
    assert evidence_required(requested, deployed) is required
