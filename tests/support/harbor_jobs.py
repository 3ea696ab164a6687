"""The recorded Harbor jobs of ``tests/data/harbor-jobs`` and what each trial must read as."""

from dataclasses import dataclass
from pathlib import Path

JOBS = Path(__file__).parents[1] / "data" / "harbor-jobs"


@dataclass(frozen=True)
class Expected:
    trial: str
    reward: float | None
    exception: str | None
    reward_valid: bool | None
    status: str
    reasons: tuple[str, ...] = ()
    retry: str = "never"
    overridden: bool = False
    tokens: tuple[int | None, int | None, int | None] = (None, None, None)
    cost_usd: float | None = None
    has_trajectory: bool = False

    @property
    def directory(self) -> Path:
        return JOBS / self.trial


def _scored(trial: str, reward: float, exception: str | None = None) -> Expected:
    return Expected(trial, reward, exception, True, "success")


def _model(trial: str, tokens: tuple[int, int, int], cost: float | None, reward: float = 1.0) -> Expected:
    return Expected(trial, reward, None, True, "success", tokens=tokens, cost_usd=cost, has_trajectory=True)


def _unscored(trial: str, exception: str) -> Expected:
    return Expected(trial, None, exception, False, "failed", (exception,))


def _cancelled(trial: str) -> Expected:
    return Expected(trial, None, "CancelledError", False, "cancelled", ("cancelled",))


TRIALS = (
    *(_scored(f"01-hello-oracle/hello-world__{name}", 1.0) for name in ("2RJ3NiW", "8JTHos5", "ArCd29Y")),
    *(_scored(f"02-hello-nop/hello-world__{name}", 0.0) for name in ("M8PTKZy", "gDHGWfi")),
    _scored("03-ctrf-metrics/csv-totals__MYkwxb5", 1.0),
    _scored("03-ctrf-metrics/csv-totals__QjU2Mim", 1.0),
    _scored("03-ctrf-metrics/csv-totals__s4pc3GM", 0.0),
    _scored("04-zero-tests/zero-tests__6YHGBdC", 1.0),
    _scored("05-fractional/partial-credit__3XCmTNu", 0.4),
    _scored("06-agent-timeout/timeout-after-work__JxJZwRu", 1.0, "AgentTimeoutError"),
    _scored("06-agent-timeout/timeout-before-work__dZpDZ45", 0.0, "AgentTimeoutError"),
    _unscored("07-no-reward-file/verifier-no-reward__469nGdK", "RewardFileNotFoundError"),
    _unscored("08-garbage-reward/verifier-empty-reward__DQBHgg7", "RewardFileEmptyError"),
    _unscored("08-garbage-reward/verifier-garbage-json__DuAMNn2", "VerifierOutputParseError"),
    _unscored("08-garbage-reward/verifier-garbage-text__JfGCgQ9", "VerifierOutputParseError"),
    Expected("09-broken-build/broken-build__aAkx7gn", None, "RuntimeError", False, "failed", ("image_build_failed",)),
    _scored("10-two-steps/two-steps__AGnGBnr", 0.0),
    _scored("10-two-steps/two-steps__juqB6zJ", 0.75),
    _scored("11-separate-verifier/separate-verifier__NTFBmEL", 0.0),
    _scored("11-separate-verifier/separate-verifier__XvXmchu", 1.0),
    _scored("12-cancelled-sigint/slow-count__BdWwUZR", 1.0),
    _cancelled("12-cancelled-sigint/slow-count__MkEFAF7"),
    _cancelled("12-cancelled-sigint/slow-count__k3CUrTV"),
    _scored("12-cancelled-sigint/slow-count__kkzwXv9", 1.0),
    _scored("13-killed/slow-count__57TFSmc", 1.0),
    Expected("13-killed/slow-count__pv9TXR5", None, None, None, "lost", ("lost",), "lost"),
    _model("14a-terminus2-solved/greet-script__GDNaiHE", (5186, 3072, 277), 0.0035292),
    _model("14a-terminus2-solved/greet-script__aicsTEW", (5030, 3072, 230), None),
    _model("14a-terminus2-solved/greet-script__ex7NWCc", (5186, 3072, 277), 0.0035292),
    _model("14a-terminus2-solved/greet-script__pobLNAs", (5030, 3072, 230), None),
    _model("14b-terminus2-failed/greet-script__QyMPfsi", (3735, 2304, 173), None, 0.0),
    Expected(
        "14c-terminus2-rate-limit/greet-script__Wo24eoJ",
        *(0.0, "RateLimitError", False, "failed", ("rate_limited",), "rate_limit"),
        tokens=(0, 0, 0),
        has_trajectory=True,
    ),
    Expected(
        "14d-terminus2-heredoc-hang/greet-script__QKod9Pp",
        *(0.0, "AgentTimeoutError", True, "success"),
        tokens=(3603, 2304, 202),
        cost_usd=0.0023374,
        has_trajectory=True,
    ),
    Expected(
        "15-agent-raises/hello-world__ygYm5mS",
        *(0.0, "RuntimeError", True, "failed", ("RuntimeError",), "backoff"),
        overridden=True,
    ),
    Expected("16-no-verification/hello-world__KdX5ahS", None, None, False, "success", ("verification_disabled",)),
)
