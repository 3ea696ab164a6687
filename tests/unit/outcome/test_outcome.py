"""The verdict under the policy ``harbor``, case by case, and its tables against the installed Harbor's."""

import pytest
from harbor.models.trial.error_policy import ERROR_POLICIES, UNKNOWN_ERROR_POLICY

from oddish.outcome import (
    MISCONFIGURED,
    NOT_RETRYABLE,
    RATE_LIMITED,
    RETRYABLE,
    VALID_REWARD,
    AttemptFacts,
    Outcome,
    RecordedException,
    judge,
    leaves_valid_reward,
    primary_reward,
    retry_after,
    retry_class,
)


def raised(
    kind: str, message: str = "", phase: str | None = "agent_execution", flag: bool | None = None
) -> RecordedException:
    return RecordedException(kind, message, phase, None, flag)


def verdict(*exceptions: RecordedException, rewards: dict[str, float] | None = None) -> Outcome:
    return judge(AttemptFacts("done", rewards=rewards, exceptions=exceptions))


def test_the_tables_name_the_same_exceptions_as_harbor() -> None:
    assert set(ERROR_POLICIES) == VALID_REWARD | RETRYABLE | NOT_RETRYABLE
    assert len(VALID_REWARD) + len(RETRYABLE) + len(NOT_RETRYABLE) == len(ERROR_POLICIES)


@pytest.mark.parametrize("name", sorted(ERROR_POLICIES))
def test_a_known_exception_is_classified_as_in_harbor(name: str) -> None:
    policy = ERROR_POLICIES[name]
    assert leaves_valid_reward(raised(name)) is policy.has_valid_reward
    retried = retry_class(raised(name)) != "never"
    overridden = name == "SandboxBuildFailedError"
    assert retried is (policy.should_retry and not overridden)


def test_unknown_exceptions_are_where_we_differ_from_harbor() -> None:
    assert UNKNOWN_ERROR_POLICY.has_valid_reward
    for name in ("RuntimeError", "SomethingNew"):
        assert not leaves_valid_reward(raised(name, flag=True))
        assert retry_class(raised(name)) == "backoff"


def test_harbors_recorded_flag_decides_for_known_exceptions() -> None:
    assert leaves_valid_reward(raised("ApiError", flag=True))
    assert not leaves_valid_reward(raised("AgentTimeoutError", flag=False))


@pytest.mark.parametrize("name", sorted(RATE_LIMITED))
def test_rate_limits_wait_longer(name: str) -> None:
    outcome = verdict(raised(name, "Rate limit reached. Please try again in 1.5s."))
    assert (outcome.retry, outcome.reasons, outcome.retry_after_sec) == ("rate_limit", ("rate_limited",), 1.5)


@pytest.mark.parametrize(
    "exception",
    [
        raised("SandboxBuildFailedError", phase="environment_setup"),
        raised(
            "RuntimeError",
            "Docker compose command failed for environment x. Command: docker compose -f a build. Return code: 2.",
        ),
    ],
)
def test_a_failed_build_is_never_retried(exception: RecordedException) -> None:
    outcome = verdict(exception)
    assert (outcome.status, outcome.reasons, outcome.retry) == ("failed", ("image_build_failed",), "never")


def test_another_failed_docker_command_is_retried() -> None:
    message = "Docker compose command failed for environment build. Command: docker compose up --wait. Return code: 1."
    assert verdict(raised("RuntimeError", message, "environment_setup")).retry == "backoff"


@pytest.mark.parametrize("name", sorted(MISCONFIGURED))
def test_what_cannot_be_created_is_never_retried_and_the_same_later_is(name: str) -> None:
    created = verdict(raised(name, phase="creation"))
    assert (created.reasons, created.retry) == (("misconfigured",), "never")
    assert verdict(raised(name)).retry == "backoff"


def test_creation_that_failed_for_lack_of_a_network_is_retried() -> None:
    assert verdict(raised("ConnectError", phase="creation")).retry == "backoff"


def test_one_permanent_exception_forbids_the_retry() -> None:
    assert verdict(raised("ApiError"), raised("AuthenticationError")).retry == "never"
    assert verdict(raised("ApiError"), raised("RateLimitError")).retry == "rate_limit"


def test_an_exception_beside_a_valid_one_is_the_one_to_blame() -> None:
    outcome = verdict(raised("AgentTimeoutError"), raised("RuntimeError"), rewards={"reward": 1.0})
    assert (outcome.reasons, outcome.retry) == (("RuntimeError",), "backoff")


def test_overriding_harbor_is_marked() -> None:
    facts = AttemptFacts(
        "done", rewards={"reward": 0.0}, exceptions=(raised("RuntimeError", flag=True),), engine_reward_valid=True
    )
    assert judge(facts).overridden
    assert not judge(AttemptFacts("done", rewards={"reward": 0.0}, engine_reward_valid=True)).overridden


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        (None, (None, False)),
        ({}, (None, False)),
        ({"reward": 0.5, "other": 1.0}, (0.5, False)),
        ({"score": 0.5}, (0.5, False)),
        ({"a": 1.0, "b": 0.0}, (None, True)),
    ],
)
def test_the_primary_reward(rewards: dict[str, float] | None, expected: tuple[float | None, bool]) -> None:
    assert primary_reward(rewards) == expected


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 20s.", 20.0),
        ("try again in 350ms", 0.35),
        ("Try again in 2m", 120.0),
        ("headers: {'retry-after': '17'}", 17.0),
        ("Retry-After: 3", 3.0),
        ("retry_after=2.5", 2.5),
        ("try again later", None),
        ("", None),
    ],
)
def test_what_a_provider_asks_for(message: str, seconds: float | None) -> None:
    assert retry_after(message) == pytest.approx(seconds)
