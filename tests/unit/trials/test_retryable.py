"""Which trials can run again, and what they are given then."""

from typing import Any

import pytest

from oddish.registries import RegistryLogin
from oddish.trials.retryable import Ended, Imported, OfGatewayJob, SecretsGone, Superseded, Unfinished, merged

HUB, GHCR, NEW_HUB = (
    RegistryLogin.of(name, "token", host) for name, host in (("a", "docker.io"), ("b", "ghcr.io"), ("c", "docker.io"))
)


def ended(**changes: Any) -> Ended:
    members: dict[str, Any] = {
        "id": "greet-1a2b3c4d-0",
        "task_id": "greet-1a2b3c4d",
        "task_version_id": "greet-1a2b3c4d-v1",
        "experiment_id": "e0000001",
        "agent": "claude-code",
        "model": "acme/model",
        "environment": "local",
        "agent_config": {"env": {"MODE": "fast", "ACME_API_KEY": None}},
        "harbor_config": {},
        "secret_id": "sec_1",
        "max_attempts": 6,
        "gated": False,
        "priority": 0,
        "status": "failed",
        "origin": "oddish",
        "superseded_by_trial_id": None,
        "gateway_job_id": None,
    }
    return Ended(**members | changes)


@pytest.mark.parametrize("status", ["failed", "skipped", "success"])
def test_whatever_has_ended_can_run_again(status: str) -> None:
    assert ended(status=status).obstacle() is None


@pytest.mark.parametrize(
    ("changes", "refusal", "fix"),
    [
        ({"superseded_by_trial_id": "greet-1a2b3c4d-4"}, Superseded, "Retry greet-1a2b3c4d-4 instead."),
        ({"status": "queued"}, Unfinished, "oddish cancel greet-1a2b3c4d-0"),
        ({"status": "running"}, Unfinished, "oddish cancel greet-1a2b3c4d-0"),
        ({"status": "retrying"}, Unfinished, "oddish cancel greet-1a2b3c4d-0"),
        ({"gateway_job_id": "gw_1"}, OfGatewayJob, "oddish gateway retry gw_1"),
        ({"origin": "imported"}, Imported, "oddish run --task greet-1a2b3c4d -a claude-code"),
    ],
)
def test_what_cannot_run_again_is_told_with_what_to_do(changes: dict[str, Any], refusal: type, fix: str) -> None:
    obstacle = ended(**changes).obstacle()
    assert type(obstacle) is refusal
    assert obstacle.status == 400
    assert fix in (obstacle.fix or "")


def test_secret_variables_come_back_from_what_was_kept_and_are_missed_by_name() -> None:
    assert ended().variables({"ACME_API_KEY": "secret"}, kept_days=30) == {"MODE": "fast", "ACME_API_KEY": "secret"}
    with pytest.raises(SecretsGone, match=r"ACME_API_KEY .* 30 days") as refusal:
        ended().variables({}, kept_days=30)
    assert "--ae ACME_API_KEY" in (refusal.value.fix or "")


def test_a_new_login_takes_the_place_of_the_former_one_at_its_registry() -> None:
    assert merged([HUB, GHCR], [NEW_HUB]) == (NEW_HUB, GHCR)
    assert merged([HUB, GHCR], []) == (HUB, GHCR)
