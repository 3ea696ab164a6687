"""Settings of the environment: read in one spelling, refused by name and never by value."""

from ipaddress import ip_address
from pathlib import Path

import pytest

from oddish.settings import VARIABLES, UnreadableSetting, read_settings

OVERRIDES = "ODDISH_MODEL_CONCURRENCY_OVERRIDES"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('{"openai/gpt-5": 2', f"{OVERRIDES} cannot be read: it is no JSON"),
        ('["openai/gpt-5"]', f"{OVERRIDES} cannot be read"),
        ('{"openai/gpt-5": -1}', f"{OVERRIDES} (openai/gpt-5) cannot be read"),
        ('{"openai/gpt-5": "many"}', f"{OVERRIDES} (openai/gpt-5) cannot be read"),
        ('{"gpt-5": 1, "openai/gpt-5": 2}', "it limits 'openai/gpt-5' twice"),
        ('{"Oracle": 2}', "no trial counts against 'oracle': name 'nop_oracle'"),
    ],
)
def test_limits_that_cannot_be_read_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, value: str, reason: str
) -> None:
    monkeypatch.setenv(OVERRIDES, value)
    with pytest.raises(UnreadableSetting) as refused:
        read_settings()
    assert reason in str(refused.value)


def test_no_results_directory_stands_in_the_way_of_exports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_VIEWER_DIRECTORIES", '{"exports": "/data"}')
    with pytest.raises(UnreadableSetting, match="VIEWER_DIRECTORIES cannot be read: 'exports' stands for"):
        read_settings()


def test_all_that_cannot_be_read_is_named_and_no_value_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_PORT", "s3cret-port")
    monkeypatch.setenv("ODDISH_ENVIRONMENT_OPTIONS", "s3cret-options")
    with pytest.raises(UnreadableSetting) as refused:
        read_settings()
    assert "ODDISH_PORT" in str(refused.value)
    assert "ODDISH_ENVIRONMENT_OPTIONS" in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_a_file_of_prices_that_is_not_there_is_named_with_one_fix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ODDISH_PRICES", str(tmp_path / "none"))
    with pytest.raises(UnreadableSetting, match=r"^ODDISH_PRICES cannot be read: .*none") as refused:
        read_settings()
    assert str(refused.value).count("Correct") == 1


def test_limits_are_kept_by_the_keys_of_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OVERRIDES, '{"gemini/flash": 2, "claude-sonnet-4-5": 3, "nop_oracle": 4, "default": 5}')
    monkeypatch.setenv("ODDISH_PROVIDER_CONCURRENCY", '{"Gemini": 6}')
    settings = read_settings()
    assert settings.model_concurrency_overrides == {
        "google/flash": 2,
        "anthropic/claude-sonnet-4-5": 3,
        "nop_oracle": 4,
        "default": 5,
    }
    assert settings.provider_concurrency == {"google": 6}


def test_a_hosted_deployment_runs_strangers_tasks_at_a_provider_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ODDISH_EC2_ENABLED", "true")
    assert read_settings().enabled_environments == ["docker", "local"]
    monkeypatch.setenv("ODDISH_DEPLOYMENT", "hosted")
    assert read_settings().enabled_environments == ["daytona"]
    monkeypatch.setenv("ODDISH_OFFERED_ENVIRONMENTS", '["docker", "ec2"]')
    assert read_settings().enabled_environments == ["docker", "ec2"]


def test_lists_and_maps_are_read_from_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_OFFERED_ENVIRONMENTS", '["local"]')
    monkeypatch.setenv("ODDISH_ENVIRONMENT_OPTIONS", '{"gke": {"region": "europe-west4"}}')
    settings = read_settings()
    assert settings.offered_environments == ["local"]
    assert settings.environment_options == {"gke": {"region": "europe-west4"}}


def test_settings_of_the_gateway_have_the_names_that_its_callers_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDBOX_TERMINUS_NO_PROGRESS", "false")
    assert not read_settings().terminus_no_progress
    monkeypatch.setenv("SANDBOX_TERMINUS_STUCK_EPISODES", "0")
    with pytest.raises(UnreadableSetting, match=r"^SANDBOX_TERMINUS_STUCK_EPISODES cannot be read: "):
        read_settings()


def test_the_gateway_reaches_loopback_on_one_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_GATEWAY_ALLOWED_HOSTS", '["*.internal", "10.1.0.0/16"]')
    loopback, listed = ip_address("127.0.0.1"), ip_address("10.1.2.3")
    allowed = read_settings().allowed_hosts
    assert (allowed.allow_ip(loopback), allowed.allow_ip(listed)) == (False, True)
    monkeypatch.setenv("ODDISH_DEPLOYMENT", "local")
    allowed = read_settings().allowed_hosts
    assert (allowed.allow_ip(loopback), allowed.allow_ip(listed)) == (True, True)
    monkeypatch.setenv("ODDISH_GATEWAY_ALLOWED_HOSTS", '["no host"]')
    with pytest.raises(UnreadableSetting, match=r"^ODDISH_GATEWAY_ALLOWED_HOSTS cannot be read: .*'no host'"):
        read_settings()
