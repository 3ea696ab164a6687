"""Which of the enabled environments a worker offers, and what it says of the others."""

from pathlib import Path
from typing import Any

import pytest

from oddish.engine.protocol import VERSION, Hello
from oddish.settings import Settings
from oddish.worker.providers import offered, provider_login

AMI = {"region": "eu-central-1", "ami_id": "ami-1"}


def hello(*environments: str, **unavailable: str) -> Hello:
    return Hello(
        type="hello",
        version=VERSION,
        engine="harbor/0.26.0",
        agents=[],
        environments=list(environments),
        unavailable=unavailable,
    )


def asked(enabled: list[str], said: Hello, environ: dict[str, str], home: Path, **settings: Any) -> Any:
    known = Settings(home=home, offered_environments=enabled, **settings)
    return offered(known, said, environ, home)


def test_what_is_enabled_and_can_run_is_offered_in_the_order_of_the_operator(tmp_path: Path) -> None:
    said = hello("docker", "local", "daytona", "e2b", modal="It needs the package modal.")
    environ = {"DAYTONA_API_KEY": "key"}
    usable, reasons = asked(["daytona", "modal", "e2b", "local"], said, environ, tmp_path)
    assert usable == ["daytona", "local"]
    assert reasons == {
        "modal": "It needs the package modal.",
        "e2b": "The worker has no credentials: it takes E2B_API_KEY.",
    }


def test_a_login_of_the_providers_own_program_will_do(tmp_path: Path) -> None:
    (tmp_path / ".modal.toml").write_text("")
    assert asked(["modal"], hello("modal"), {}, tmp_path) == (["modal"], {})


def test_a_variable_that_the_operator_names_will_do(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"provider_credentials": {"modal": ["MODAL_OTHER_TOKEN"]}}
    assert asked(["modal"], hello("modal"), {"MODAL_OTHER_TOKEN": "t"}, tmp_path, **settings) == (["modal"], {})
    assert asked(["modal"], hello("modal"), {}, tmp_path, **settings)[0] == []


def test_a_name_that_the_engine_does_not_know_is_a_mistake_of_the_operator(tmp_path: Path) -> None:
    usable, reasons = asked(["daytonna"], hello("daytona"), {}, tmp_path)
    assert usable == []
    assert reasons == {"daytonna": "harbor/0.26.0 has no such environment. Correct ODDISH_OFFERED_ENVIRONMENTS."}


def test_ec2_is_off_unless_its_own_setting_is_on(tmp_path: Path) -> None:
    options = {"environment_options": {"ec2": AMI}}
    assert asked(["ec2"], hello("ec2"), {}, tmp_path, **options) == ([], {})
    assert asked(["ec2"], hello("ec2"), {}, tmp_path, ec2_enabled=True, **options) == (["ec2"], {})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "does not say its region, ami_id"),
        ({"region": "eu-central-1"}, "does not say its ami_id"),
        ({**AMI, "colour": "red"}, "sets colour, which ec2 does not have"),
        ({**AMI, "launch_mode": "attach", "instance_id": "i-1"}, "each one runs on a machine of its own"),
    ],
)
def test_ec2_is_offered_when_it_is_fully_configured(options: dict[str, str], words: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"ec2_enabled": True, "environment_options": {"ec2": options}}
    usable, reasons = asked(["ec2"], hello("ec2"), {}, tmp_path, **settings)
    assert usable == []
    assert words in reasons["ec2"]


def test_credentials_are_no_options(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"environment_options": {"boxd": {"api_key": "boxd-key"}}}
    usable, reasons = asked(["boxd"], hello("boxd"), {"BOXD_API_KEY": "k"}, tmp_path, **settings)
    assert usable == []
    assert "sets api_key, and options are shown with every trial" in reasons["boxd"]
    assert "boxd-key" not in reasons["boxd"]


def test_in_local_mode_the_caller_gives_the_options(tmp_path: Path) -> None:
    environ = {"KUBECONFIG": "/etc/kube"}
    assert asked(["gke"], hello("gke"), environ, tmp_path, deployment="local") == (["gke"], {})
    assert "cluster_name" in asked(["gke"], hello("gke"), environ, tmp_path)[1]["gke"]


def test_the_login_of_one_environment_is_for_no_other(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, provider_credentials={"mosaic": ["MOSAIC_TOKEN"]})
    environ = {"MOSAIC_TOKEN": "m", "E2B_API_KEY": "e", "DAYTONA_API_KEY": "d"}
    assert provider_login(settings, "mosaic", environ) == {"MOSAIC_TOKEN": "m"}
    assert provider_login(settings, "e2b", environ) == {"E2B_API_KEY": "e"}
    assert provider_login(settings, "local", environ) == {}
