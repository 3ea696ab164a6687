"""The strict outcome of a job: its sentences, its document, and what it makes of single cases."""

import json

import pytest

from oddish.outcome import AttemptFacts, RecordedException, StrictTrial, strict_outcome

SOLVED = AttemptFacts("done", rewards={"reward": 1.0}, reported_tests=4)


def raised(*names: str, reward: float | None = None, tests: int | None = None, message: str = "") -> AttemptFacts:
    exceptions = tuple(RecordedException(name, message, "agent_execution") for name in names)
    rewards = None if reward is None else {"reward": reward}
    return AttemptFacts("done", rewards=rewards, exceptions=exceptions, reported_tests=tests)


def trials(*facts: AttemptFacts) -> list[StrictTrial]:
    return [StrictTrial(f"extracted__{number}", item) for number, item in enumerate(facts)]


def test_a_timeout_whose_verifier_collected_nothing() -> None:
    outcome = strict_outcome({"codex": trials(raised("AgentTimeoutError", reward=1.0, tests=0))})
    assert outcome.job_status == "failed"
    assert outcome.document(details=False) == {
        "status": "errored",
        "valid_for_scoring": False,
        "reasons": [
            "codex: 1 of 1 trial raised (AgentTimeoutError); what a rollout earned before it broke off is no score",
            "codex: the test report of 1 of 1 trial accounts for no test; a verifier that checks nothing cannot pass "
            "anything",
        ],
        "trials": {"scored": 1, "errored": 1, "successful": 0},
        "exceptions": ["AgentTimeoutError"],
        "verifier": {"evidence": "empty", "tests": 0},
    }


def test_a_job_that_nothing_speaks_against() -> None:
    outcome = strict_outcome({"a": trials(SOLVED, SOLVED), "b": trials(SOLVED)})
    assert outcome.job_status == "succeeded"
    assert outcome.document(details=False) == {
        "status": "scored",
        "valid_for_scoring": True,
        "reasons": [],
        "trials": {"scored": 3, "errored": 0, "successful": 3},
        "exceptions": [],
        "verifier": {"evidence": "present", "tests": 4},
    }


def test_a_reward_without_a_report_is_withheld_and_the_job_stays_succeeded() -> None:
    job = {"oracle": trials(AttemptFacts("done", rewards={"reward": 1.0}))}
    outcome = strict_outcome(job)
    assert (outcome.job_status, outcome.status, outcome.valid_for_scoring) == ("succeeded", "unverified", False)
    assert (outcome.evidence, outcome.tests) == ("none", 0)
    [reason] = outcome.reasons
    assert "require_verifier_evidence" in reason
    assert strict_outcome(job, require_verifier_evidence=False).valid_for_scoring


def test_an_empty_report_is_refused_even_on_trust() -> None:
    job = {"oracle": trials(AttemptFacts("done", rewards={"reward": 1.0}, reported_tests=0))}
    outcome = strict_outcome(job, require_verifier_evidence=False)
    assert (outcome.valid_for_scoring, outcome.evidence) == (False, "empty")


def test_a_partly_errored_job_succeeds_and_may_not_be_scored() -> None:
    outcome = strict_outcome({"a": trials(SOLVED, raised("RateLimitError"), raised("RateLimitError", "ApiError"))})
    assert (outcome.job_status, outcome.status, outcome.valid_for_scoring) == ("succeeded", "errored", False)
    assert (outcome.scored, outcome.errored, outcome.successful) == (1, 2, 1)
    assert outcome.exceptions == ("ApiError", "RateLimitError")
    assert outcome.reasons == ("a: 2 of 3 trials raised (1 x ApiError, 2 x RateLimitError)",)


def test_only_the_agent_to_blame_is_named() -> None:
    outcome = strict_outcome({"good": trials(SOLVED), "bad": trials(raised("AgentTimeoutError", reward=1.0, tests=4))})
    assert [reason.partition(":")[0] for reason in outcome.reasons] == ["bad"]


def test_an_agent_without_a_reward_or_a_trial_is_named() -> None:
    nothing = AttemptFacts("done")
    outcome = strict_outcome({"a": trials(nothing), "b": [], "c": trials(SOLVED, nothing)})
    assert outcome.reasons == (
        "a: no trial has a reward, so there is nothing to score",
        "b: it has no trials",
        "c: 1 of 2 trials ended without a reward",
    )


def test_a_job_without_trials_failed_and_scores_nothing() -> None:
    outcome = strict_outcome({})
    assert (outcome.job_status, outcome.status, outcome.valid_for_scoring) == ("failed", "unverified", False)
    assert outcome.reasons == ("The job has no trials.",)
    assert (outcome.evidence, outcome.tests, outcome.details) == ("none", 0, ())


def test_a_trial_that_nobody_wanted_verified_has_no_result() -> None:
    outcome = strict_outcome({"a": trials(AttemptFacts("done", verifier_disabled=True))})
    assert (outcome.job_status, outcome.status, outcome.valid_for_scoring) == ("failed", "unverified", False)
    assert (outcome.scored, outcome.errored, outcome.successful) == (0, 0, 0)


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        (AttemptFacts("lost"), "AttemptLost"),
        (AttemptFacts("crashed"), "AttemptCrashed"),
        (AttemptFacts("done", cancelled=True), "CancelledError"),
        (raised("ApiError"), "ApiError"),
    ],
)
def test_an_end_without_an_exception_has_a_name(facts: AttemptFacts, name: str) -> None:
    outcome = strict_outcome({"a": trials(facts)})
    assert outcome.exceptions == (name,)
    assert (outcome.details[0]["status"], outcome.details[0]["exception"]) == ("errored", name)


def test_the_weakest_evidence_speaks_for_the_job() -> None:
    few = AttemptFacts("done", rewards={"reward": 1.0}, reported_tests=2)
    none = AttemptFacts("done", rewards={"reward": 1.0})
    empty = AttemptFacts("done", rewards={"reward": 1.0}, reported_tests=0)
    unscored = raised("AgentTimeoutError")
    for listed, expected in (
        ((SOLVED, few, unscored), ("ctrf", 2)),
        ((SOLVED, none), ("none", 0)),
        ((SOLVED, none, empty), ("empty", 0)),
        ((unscored,), ("none", 0)),
    ):
        outcome = strict_outcome({"a": trials(*listed)})
        assert (outcome.evidence, outcome.tests) == expected


def test_the_roster_lists_every_trial_as_recorded() -> None:
    stuck = raised("TerminusNoProgressError", message="m" * 5_000)
    outcome = strict_outcome({"a": trials(AttemptFacts("done", rewards={"reward": 0.0}), stuck)})
    document = outcome.document(details=True)
    assert document["trials_detail"] == [
        {"agent": "a", "trial_name": "extracted__0", "status": "completed", "reward": 0.0, "exception": None},
        {
            "agent": "a",
            "trial_name": "extracted__1",
            "status": "errored",
            "reward": None,
            "exception": "TerminusNoProgressError",
            "exception_message": "m" * 1_000,
        },
    ]
    assert "trials_detail" not in outcome.document(details=False)
    json.dumps(document, allow_nan=False)
