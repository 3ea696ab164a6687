"""The verdict on an attempt under the policy ``harbor``, derived from facts. Pure; standard library only.

Harbor classifies exceptions by class name: may the attempt be retried, is its reward valid. The tables below are
Harbor's (a test compares them), followed by our overrides: an unknown exception and ``RuntimeError`` never leave a
valid reward; failures that a repetition cannot cure are never retried; rate limits wait longer.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

type Status = Literal["success", "failed", "cancelled", "lost"]
type Retry = Literal["never", "backoff", "rate_limit", "lost"]
"""``lost``: again at once and not charged to the budget; the others are classes of the charged retry."""
type Ending = Literal["done", "crashed", "lost"]

VALID_REWARD = frozenset(
    {
        "AgentSafetyRefusalError",
        "AgentTimeoutError",
        "ContentPolicyViolationError",
        "ContextLengthExceededError",
        "ContextWindowExceededError",
        "NonZeroAgentExitCodeError",
        "OutputLengthExceededError",
        "OutputTokenExceededError",
    }
)
"""Ends of an agent that belong to its performance: the reward counts, a repetition is not called for."""
RETRYABLE = frozenset(
    {
        "APIConnectionError",
        "APIError",
        "AddTestsDirError",
        "AgentSetupTimeoutError",
        "ApiConnectionClosedError",
        "ApiConnectionError",
        "ApiError",
        "ApiInternalServerError",
        "ApiOverloadedError",
        "ApiRateLimitError",
        "ApiResponseStalledError",
        "ApiUsageLimitError",
        "DownloadVerifierDirError",
        "EnvironmentStartTimeoutError",
        "GKEExecStreamClosedError",
        "GKEPodNotFoundError",
        "HealthcheckError",
        "InternalServerError",
        "MemoryLimitExceededError",
        "NetworkConnectionError",
        "RateLimitError",
        "RuntimeRequestError",
        "SSHAccessError",
        "SandboxBuildFailedError",
        "SandboxLikelyOutOfMemoryError",
        "ServiceUnavailableError",
        "Timeout",
        "UnknownApiError",
    }
)
NOT_RETRYABLE = frozenset(
    {
        "APIResponseValidationError",
        "AgentAuthenticationError",
        "ApiProviderResourceNotFoundError",
        "AuthenticationError",
        "BadRequestError",
        "BudgetExceededError",
        "CancelledError",
        "DspyImportError",
        "MissingExtraError",
        "ModelNotFoundError",
        "NotFoundError",
        "PermissionDeniedError",
        "RegradeError",
        "RewardFileEmptyError",
        "RewardFileNotFoundError",
        "ServiceOperationsUnsupportedError",
        "UnprocessableEntityError",
        "UnsupportedModelParametersError",
        "UnsupportedParamsError",
        "VercelScopeError",
        "VerifierOutputParseError",
        "VerifierTimeoutError",
    }
)

IMAGE_BUILD_FAILED = "SandboxBuildFailedError"
ATTEMPT_DEADLINE = "AttemptDeadlineError"
RATE_LIMITED = frozenset({"ApiRateLimitError", "RateLimitError", "ApiOverloadedError", "ApiUsageLimitError"})
MISCONFIGURED = frozenset(
    {
        "AttributeError",
        "FileNotFoundError",
        "ImportError",
        "InvalidInput",
        "InvalidTask",
        "MissingModelCredentialError",
        "ModuleNotFoundError",
        "NotADirectoryError",
        "NotImplementedError",
        "TypeError",
        "ValidationError",
        "ValueError",
    }
)
"""What creating a trial raises for a task, agent or environment that would fail the same way every time."""

_DOCKER_BUILD = re.compile(r"Docker compose command failed .*?\bbuild\. Return code", re.DOTALL)
_RETRY_AFTER = re.compile(r"(?:retry[-_ ]after\W{1,4}|try again in )(\d+(?:\.\d+)?)\s?(ms|s|m|h)?(?!\w)", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


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
    """What is known of an attempt once it is over."""

    ending: Ending
    """``done``: it ran to its end. ``crashed``: its process ended early. ``lost``: its worker is gone."""
    cancelled: bool = False
    """The user's cancel interrupted it."""
    rewards: Mapping[str, float] | None = None
    exceptions: tuple[RecordedException, ...] = ()
    verifier_disabled: bool = False
    engine_reward_valid: bool | None = None
    """Harbor's own verdict, before the overrides; None when it recorded none."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict under a named policy."""

    status: Status
    usable: bool
    reward_valid: bool
    overridden: bool
    """Our overrides changed Harbor's verdict on the reward."""
    reward: float | None
    """The primary reward, valid or not; None when there is none."""
    reasons: tuple[str, ...]
    """Why the attempt is not usable or its score is missing, the main reason first; empty for a plain success."""
    retry: Retry
    retry_after_sec: float | None = None
    """What the provider asked for, when it did."""
    policy: str = "harbor"


def judge(facts: AttemptFacts) -> Outcome:
    """Derive the outcome of one attempt."""
    reward, ambiguous = primary_reward(facts.rewards)
    valid = bool(facts.rewards) and all(leaves_valid_reward(exception) for exception in facts.exceptions)
    scoreless = facts.verifier_disabled and not facts.exceptions
    usable = facts.ending == "done" and (valid or scoreless)
    overridden = facts.engine_reward_valid is True and not valid
    if usable:
        reasons = ["ambiguous"] if ambiguous else [] if facts.rewards else ["verification_disabled"]
        return Outcome("success", True, valid, overridden, reward, tuple(reasons), "never")
    cancelled = facts.cancelled or any(exception.type == "CancelledError" for exception in facts.exceptions)
    if cancelled:
        return Outcome("cancelled", False, False, overridden, reward, ("cancelled",), "never")
    if facts.ending == "lost":
        return Outcome("lost", False, False, overridden, reward, ("lost",), "lost")
    if facts.ending == "crashed":
        return Outcome("failed", False, False, overridden, reward, ("crashed",), "backoff")
    blamed = [exception for exception in facts.exceptions if not leaves_valid_reward(exception)]
    reasons = list(dict.fromkeys(reason_for(exception) for exception in blamed or facts.exceptions)) or ["no_reward"]
    classes = {retry_class(exception) for exception in blamed} or {"never"}
    retry: Retry = "never" if "never" in classes else "rate_limit" if "rate_limit" in classes else "backoff"
    after = max((retry_after(exception.message) or 0.0 for exception in blamed), default=0.0)
    asked = after if after and retry == "rate_limit" else None
    return Outcome("failed", False, valid, overridden, reward, tuple(reasons), retry, asked)


def primary_reward(rewards: Mapping[str, float] | None) -> tuple[float | None, bool]:
    """The key ``reward``, else the only key, else None; and whether it is None because there are several."""
    if not rewards:
        return None, False
    if "reward" in rewards:
        return rewards["reward"], False
    if len(rewards) == 1:
        return next(iter(rewards.values())), False
    return None, True


def leaves_valid_reward(exception: RecordedException) -> bool:
    """Whether a reward recorded beside this exception counts: Harbor's flag, but never for one it does not know."""
    if exception.type not in VALID_REWARD | RETRYABLE | NOT_RETRYABLE:
        return False
    if exception.has_valid_reward is not None:
        return exception.has_valid_reward
    return exception.type in VALID_REWARD


def retry_class(exception: RecordedException) -> Retry:
    """How an attempt that ended in this exception may be repeated."""
    if exception.type in RATE_LIMITED:
        return "rate_limit"
    permanent = NOT_RETRYABLE | VALID_REWARD | {ATTEMPT_DEADLINE}
    if exception.type in permanent or is_image_build_failure(exception) or is_misconfigured(exception):
        return "never"
    return "backoff"


def reason_for(exception: RecordedException) -> str:
    """A stable word for what happened; the class name where there is none."""
    if is_image_build_failure(exception):
        return "image_build_failed"
    if is_misconfigured(exception):
        return "misconfigured"
    if exception.type == ATTEMPT_DEADLINE:
        return "deadline"
    if exception.type in RATE_LIMITED:
        return "rate_limited"
    return exception.type


def is_image_build_failure(exception: RecordedException) -> bool:
    """The environment's definition could not be built; the Docker environment says so in its message only."""
    if exception.type == IMAGE_BUILD_FAILED:
        return True
    return exception.type == "RuntimeError" and _DOCKER_BUILD.match(exception.message) is not None


def is_misconfigured(exception: RecordedException) -> bool:
    """The trial could not be created from what was submitted."""
    return exception.phase == "creation" and exception.type in MISCONFIGURED


def retry_after(message: str) -> float | None:
    """Seconds that a provider's error message asks to wait."""
    found = _RETRY_AFTER.search(message)
    return float(found[1]) * _SECONDS[(found[2] or "s").lower()] if found else None
