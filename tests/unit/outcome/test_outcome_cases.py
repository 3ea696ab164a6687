"""Every kind of ending under the three policies: a table of named cases, and the laws that all combinations obey.

Run with ``-s`` to read the table.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from oddish.outcome import (
    NOT_RETRYABLE,
    RETRYABLE,
    VALID_REWARD,
    AttemptFacts,
    Ending,
    RecordedException,
    StrictTrial,
    judge,
    strict_outcome,
)
from support.printing import show

TESTS = 4


@dataclass(frozen=True)
class Case:
    """``harbor``: status, whether the reward is valid, retry, reasons. ``strict``: reasons against the reward."""

    name: str
    facts: AttemptFacts
    harbor: tuple[str, bool, str, str]
    strict: str
    measured: float | None
    evidence_required: bool = True


def ended(
    *exceptions: str,
    reward: float | None = 1.0,
    tests: int | None = TESTS,
    ending: Ending = "done",
    phase: str = "agent_execution",
    message: str = "",
    engine: bool | None = None,
    cancelled: bool = False,
    disabled: bool = False,
    rewards: dict[str, float] | None = None,
) -> AttemptFacts:
    return AttemptFacts(
        ending=ending,
        cancelled=cancelled,
        rewards=rewards if rewards is not None or reward is None else {"reward": reward},
        exceptions=tuple(RecordedException(name, message, phase) for name in exceptions),
        verifier_disabled=disabled,
        engine_reward_valid=engine,
        reported_tests=tests,
    )


def unscored(name: str, exception: str, retry: str = "never", reason: str | None = None, **more: str) -> Case:
    word = reason or exception
    facts = ended(exception, reward=None, tests=None, **more)
    return Case(name, facts, ("failed", False, retry, word), word, None)


BUILD = "Docker compose command failed for environment x. Command: docker compose build. Return code: 1."
CASES = (
    Case("solved, test report", ended(), ("success", True, "never", ""), "", 1.0),
    Case("failed, test report", ended(reward=0.0), ("success", True, "never", ""), "", 0.0),
    Case("fractional reward", ended(reward=0.4), ("success", True, "never", ""), "", 0.4),
    Case("no test report", ended(tests=None), ("success", True, "never", ""), "no_report", 1.0),
    Case(
        "no test report, not required",
        *(ended(tests=None), ("success", True, "never", ""), "", 1.0),
        evidence_required=False,
    ),
    Case("report of no test", ended(tests=0), ("success", True, "never", ""), "empty_report", 1.0),
    Case(
        "report of no test, not required",
        *(ended(tests=0), ("success", True, "never", ""), "empty_report", 1.0),
        evidence_required=False,
    ),
    Case(
        "several rewards, none primary",
        *(ended(rewards={"a": 1.0, "b": 0.0}), ("success", True, "never", "ambiguous"), "ambiguous", None),
    ),
    Case("agent timeout, solved", ended("AgentTimeoutError"), ("success", True, "never", ""), "AgentTimeoutError", 1.0),
    Case(
        "agent timeout, no report, not required",
        *(ended("AgentTimeoutError", tests=None), ("success", True, "never", ""), "AgentTimeoutError", 1.0),
        evidence_required=False,
    ),
    Case(
        "agent timeout, report of no test",
        *(ended("AgentTimeoutError", tests=0), ("success", True, "never", ""), "AgentTimeoutError empty_report", 1.0),
    ),
    Case(
        "agent exit code, failed",
        *(ended("NonZeroAgentExitCodeError", reward=0.0), ("success", True, "never", "")),
        *("NonZeroAgentExitCodeError", 0.0),
    ),
    unscored("agent timeout, no reward", "AgentTimeoutError"),
    Case(
        "unknown exception, reward",
        *(ended("SurprisingError", engine=True), ("failed", False, "backoff", "SurprisingError"), "SurprisingError"),
        1.0,
    ),
    Case(
        "RuntimeError, reward",
        *(ended("RuntimeError", reward=0.0, engine=True), ("failed", False, "backoff", "RuntimeError")),
        *("RuntimeError", 0.0),
    ),
    Case(
        "rate limit, reward",
        *(ended("RateLimitError", reward=0.0, engine=False), ("failed", False, "rate_limit", "rate_limited")),
        *("rate_limited", 0.0),
    ),
    Case(
        "provider's 5xx, reward",
        *(
            ended("InternalServerError"),
            ("failed", False, "backoff", "InternalServerError"),
            "InternalServerError",
            1.0,
        ),
    ),
    Case(
        "timeout and rate limit, reward",
        *(ended("AgentTimeoutError", "RateLimitError"), ("failed", False, "rate_limit", "rate_limited")),
        *("AgentTimeoutError rate_limited", 1.0),
    ),
    unscored("verifier timeout", "VerifierTimeoutError", phase="verifier"),
    unscored("reward file missing", "RewardFileNotFoundError", phase="verifier"),
    unscored("reward file empty", "RewardFileEmptyError", phase="verifier"),
    unscored("reward not a number", "VerifierOutputParseError", phase="verifier"),
    Case("no reward, no exception", ended(reward=None), ("failed", False, "never", "no_reward"), "no_reward", None),
    unscored("environment did not start", "EnvironmentStartTimeoutError", "backoff", phase="environment_setup"),
    unscored("sandbox unhealthy", "HealthcheckError", "backoff", phase="environment_setup"),
    unscored("image build failed", "SandboxBuildFailedError", "never", "image_build_failed"),
    unscored("image build failed, docker", "RuntimeError", "never", "image_build_failed", message=BUILD),
    unscored("bad credentials", "AuthenticationError"),
    unscored("model not found", "ModelNotFoundError"),
    unscored("bad agent name", "ValueError", "never", "misconfigured", phase="creation"),
    unscored("registry unreachable", "ConnectError", "backoff", phase="creation"),
    unscored("total deadline", "AttemptDeadlineError", "never", "deadline"),
    unscored("more on disk than the task may have", "DiskLimitExceeded", "never", "disk_limit"),
    unscored("disk of the machine full", "DiskScarce", "backoff", "DiskScarce"),
    unscored("record damaged", "ResultUnreadable", "backoff", "result_unreadable"),
    Case(
        "verification disabled",
        *(ended(reward=None, tests=None, disabled=True), ("success", False, "never", "verification_disabled")),
        *("verification_disabled", None),
    ),
    Case(
        "verification disabled, agent timeout",
        *(ended("AgentTimeoutError", reward=None, tests=None, disabled=True),),
        *(("failed", False, "never", "AgentTimeoutError"), "AgentTimeoutError", None),
    ),
    Case(
        "verification disabled, provider's error",
        *(ended("ApiError", reward=None, tests=None, disabled=True), ("failed", False, "backoff", "ApiError")),
        *("ApiError", None),
    ),
    Case(
        "verification disabled, process crashed",
        *(ended(reward=None, tests=None, disabled=True, ending="crashed"), ("failed", False, "backoff", "crashed")),
        *("crashed", None),
    ),
    Case(
        "cancelled",
        *(ended("CancelledError", reward=None, tests=None, cancelled=True),),
        *(("cancelled", False, "never", "cancelled"), "cancelled", None),
    ),
    Case(
        "cancelled after the reward",
        *(ended(cancelled=True, engine=True), ("cancelled", False, "never", "cancelled"), "cancelled", 1.0),
    ),
    Case(
        "cancelled before it was created",
        *(
            ended(reward=None, tests=None, cancelled=True),
            ("cancelled", False, "never", "cancelled"),
            "cancelled",
            None,
        ),
    ),
    Case(
        "cancelled, worker lost",
        *(ended(reward=None, tests=None, cancelled=True, ending="lost"),),
        *(("cancelled", False, "never", "cancelled"), "cancelled", None),
    ),
    Case(
        "worker lost",
        *(ended(reward=None, tests=None, ending="lost"), ("lost", False, "lost", "lost"), "lost", None),
    ),
    Case(
        "process crashed",
        *(ended(reward=None, tests=None, ending="crashed"), ("failed", False, "backoff", "crashed"), "crashed", None),
    ),
    Case(
        "process crashed after the reward",
        *(ended(ending="crashed", engine=True), ("failed", False, "backoff", "crashed"), "crashed", 1.0),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_comes_to_the_listed_verdicts(case: Case) -> None:
    harbor = judge(case.facts)
    assert (harbor.status, harbor.reward_valid, harbor.retry, " ".join(harbor.reasons)) == case.harbor
    strict = judge(case.facts, policy="strict", require_verifier_evidence=case.evidence_required)
    assert " ".join(strict.reasons) == case.strict
    assert strict.reward_valid is (case.strict in ("", "ambiguous"))
    measured = judge(case.facts, policy="measured")
    assert (measured.reward if measured.reward_valid else None) == case.measured


def test_the_table_of_cases_can_be_read() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    rows = []
    for case in CASES:
        status, valid, retry, reasons = case.harbor
        again = "" if retry == "never" else f", retry {retry}"
        counts = "valid" if valid else "no reward" if not case.facts.rewards else "not valid"
        rows.append(
            [
                *(case.name, case.facts.evidence, f"{status}: {counts} {reasons}".strip() + again),
                "valid" if case.strict in ("", "ambiguous") else f"refused: {case.strict}",
                "unmeasured" if case.measured is None else case.measured,
            ]
        )
    show(f"{len(CASES)} cases", ["case", "report", "harbor", "strict", "measured"], rows)


ENDINGS: tuple[Ending, ...] = ("done", "crashed", "lost")
KINDS = {
    "AgentTimeoutError": True,
    "RateLimitError": False,
    "HealthcheckError": False,
    "AuthenticationError": False,
    "VerifierTimeoutError": False,
    "CancelledError": False,
    "RuntimeError": False,
    "SurprisingError": False,
}
"""Class name -> whether a reward beside it is valid under ``harbor``."""
REWARDS = (None, {}, {"reward": 0.0}, {"reward": 1.0}, {"score": 0.4}, {"a": 1.0, "b": 0.0}, {"reward": 2.0, "b": 0.0})


def combinations() -> Iterator[AttemptFacts]:
    exceptions = [(), *itertools.combinations(KINDS, 1), *itertools.combinations(KINDS, 2)]
    for ending, names, rewards, tests, disabled, cancelled, engine in itertools.product(
        *(ENDINGS, exceptions, REWARDS, (None, 0, TESTS), (False, True), (False, True), (None, False, True))
    ):
        yield AttemptFacts(
            *(ending, cancelled, rewards, tuple(RecordedException(name, "", "agent_execution") for name in names)),
            *(disabled, engine, tests),
        )


def expected_status(facts: AttemptFacts, names: set[str]) -> str:
    if facts.cancelled or "CancelledError" in names:
        return "cancelled"
    if facts.ending != "done":
        return {"lost": "lost", "crashed": "failed"}[facts.ending]
    believed = bool(facts.rewards) and all(KINDS[name] for name in names)
    nothing_wanted = facts.verifier_disabled and not names
    return "success" if believed or nothing_wanted else "failed"


def test_all_combinations_come_to_the_expected_verdicts() -> None:
    assert set(KINDS) - {"RuntimeError", "SurprisingError"} <= VALID_REWARD | RETRYABLE | NOT_RETRYABLE
    count = 0
    for facts in combinations():
        count += 1
        names = {exception.type for exception in facts.exceptions}
        status = expected_status(facts, names)
        undisturbed = facts.ending == "done" and not facts.cancelled and not names
        harbor, measured = judge(facts), judge(facts, policy="measured")
        strict, trusting = (
            judge(facts, policy="strict", require_verifier_evidence=required) for required in (True, False)
        )
        assert {harbor.status, strict.status, trusting.status, measured.status} == {status}
        assert harbor.reward_valid is (status == "success" and bool(facts.rewards))
        assert harbor.usable is (status == "success")
        assert strict.reward_valid is (undisturbed and bool(facts.rewards) and facts.reported_tests == TESTS)
        assert trusting.reward_valid is (undisturbed and bool(facts.rewards) and facts.reported_tests != 0)
        assert measured.reward_valid is (facts.rewards not in (None, {}, {"a": 1.0, "b": 0.0}))
        for outcome in (harbor, strict, trusting, measured):
            assert outcome.overridden is (facts.engine_reward_valid is True and not outcome.reward_valid)
            assert outcome.reasons or (outcome.reward_valid and outcome.reward is not None)
            assert outcome.retry == harbor.retry
            assert outcome.reward == (facts.rewards or {}).get("reward", (facts.rewards or {}).get("score"))
        job = strict_outcome({"agent": [StrictTrial("t", facts)]})
        assert job.valid_for_scoring is strict.reward_valid
        assert (job.scored, job.errored) == (int(bool(facts.rewards)), int(not undisturbed))
        assert job.job_status == ("succeeded" if undisturbed and facts.rewards else "failed")
    assert count == 3 * 37 * 7 * 3 * 2 * 2 * 3
