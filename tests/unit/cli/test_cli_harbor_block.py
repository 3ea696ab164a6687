"""What options about the engine come to in a submission."""

import click
import pytest

from oddish.cli.harbor_block import EngineChoices

SHA = "0123456789abcdef0123456789abcdef01234567"


def test_nothing_said_is_nothing_sent() -> None:
    assert (EngineChoices().block(), EngineChoices().agent()) == ({}, {})


def test_each_option_has_its_place() -> None:
    choices = EngineChoices(
        override_cpus=2,
        override_memory_mb=512,
        override_gpus=0,
        override_storage_mb=1024,
        force_build=False,
        environment_kwarg=("region=eu", "retries=3"),
        artifact=("/app/out", "logs"),
        allow_agent_host=("docs.example", " *.cdn.example "),
        disable_web_tools=False,
        unverified=True,
    )
    assert choices.block() == {
        "environment": {
            "override_cpus": 2,
            "override_memory_mb": 512,
            "override_gpus": 0,
            "override_storage_mb": 1024,
            "force_build": False,
            "kwargs": {"region": "eu", "retries": 3},
        },
        "artifacts": ["/app/out", "logs"],
        "verifier": {"disable": True},
    }
    assert choices.agent() == {"extra_allowed_hosts": ["docs.example", "*.cdn.example"], "disable_web_tools": False}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("0.25.0", {"source": "package", "ref": "0.25.0"}),
        ("harbor==0.25.0", {"source": "package", "ref": "0.25.0"}),
        ("main", {"ref": "main"}),
        (SHA, {"ref": SHA}),
        ("acme/harbor@main", {"source": "https://github.com/acme/harbor", "ref": "main"}),
        ("git+https://git.example/harbor.git@v1", {"source": "https://git.example/harbor", "ref": "v1"}),
        ("file:///srv/harbor@main", {"source": "file:///srv/harbor", "ref": "main"}),
        (" ", {}),
    ],
)
def test_another_harbor_is_named_by_source_and_ref(given: str, sent: dict[str, str]) -> None:
    assert EngineChoices(harbor=given).block() == sent


@pytest.mark.parametrize(
    ("choices", "option"),
    [
        (EngineChoices(harbor="a..b"), "--harbor"),
        (EngineChoices(harbor="ssh://git.example/harbor@main"), "--harbor"),
        (EngineChoices(harbor="0123abc"), "--harbor"),
        (EngineChoices(environment_kwarg=("region",)), "--environment-kwarg"),
        (EngineChoices(artifact=("",)), "--artifact"),
        (EngineChoices(artifact=("/app/../etc",)), "--artifact"),
        (EngineChoices(allow_agent_host=("https://docs.example",)), "--allow-agent-host"),
        (EngineChoices(allow_agent_host=(" ",)), "--allow-agent-host"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_the_name_of_its_option(choices: EngineChoices, option: str) -> None:
    with pytest.raises(click.BadParameter) as refusal:
        (choices.block(), choices.agent())
    assert refusal.value.param_hint == f"'{option}'"
