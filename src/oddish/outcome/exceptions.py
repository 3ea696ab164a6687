"""Exceptions by class name: does a reward beside one count, may the attempt be repeated, what is it called. Pure.

The tables are Harbor's (a test compares them), followed by our overrides: an unknown exception and ``RuntimeError``
never leave a valid reward; failures that a repetition cannot cure are never retried; rate limits wait longer.
"""

import re
from typing import Literal

from oddish.outcome.facts import RecordedException

type Retry = Literal["never", "backoff", "rate_limit", "lost"]
"""``lost``: again at once and not charged to the budget; the others are classes of the charged retry."""

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
DISK_LIMIT = "DiskLimitExceeded"
"""The local sandbox was ended because it held more than the task may have on disk."""
TERMINUS_NO_PROGRESS = "TerminusNoProgressError"
"""terminus-2 gave up: its shell waited for the rest of a command, and it did nothing about it."""
RESULT_UNREADABLE = "ResultUnreadable"
"""No exception of a trial: its record is missing or damaged although it ran to its end."""
RATE_LIMITED = frozenset({"ApiRateLimitError", "RateLimitError", "ApiOverloadedError", "ApiUsageLimitError"})
MISCONFIGURED = frozenset(
    {
        "AttributeError",
        "FileNotFoundError",
        "ImportError",
        "InvalidInput",
        "InvalidTask",
        "KeyringError",
        "LoginOfProvider",
        "MissingCredential",
        "MissingModelCredentialError",
        "ModuleNotFoundError",
        "NotADirectoryError",
        "NotImplementedError",
        "TypeError",
        "ValidationError",
        "ValueError",
        "VariantUnbuildable",
    }
)
"""What creating a trial raises for a task, agent or environment that would fail the same way every time."""

_DOCKER_BUILD = re.compile(r"Docker compose command failed .*?\bbuild\. Return code", re.DOTALL)
_RETRY_AFTER = re.compile(r"(?:retry[-_ ]after\W{1,4}|try again in )(\d+(?:\.\d+)?)\s?(ms|s|m|h)?(?!\w)", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


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
    permanent = NOT_RETRYABLE | VALID_REWARD | {ATTEMPT_DEADLINE, DISK_LIMIT, TERMINUS_NO_PROGRESS}
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
    if exception.type == DISK_LIMIT:
        return "disk_limit"
    if exception.type == RESULT_UNREADABLE:
        return "result_unreadable"
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
