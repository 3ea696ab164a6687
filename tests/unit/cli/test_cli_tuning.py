"""What the options that Harbor has too come to in a submission."""

from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from oddish.cli.agent_choices import AgentChoices
from oddish.cli.credentials import Sources
from oddish.cli.harbor_block import EngineChoices, overlaid
from oddish.cli.run_options import attempts_options
from oddish.cli.sweep.sweep import NOTHING
from oddish.cli.tuning import POLICIES, Tuning


def test_each_option_has_its_place() -> None:
    tuning = Tuning(
        timeout_multiplier=2.0,
        agent_setup_timeout_multiplier=0.5,
        cpu_policy="limit",
        memory_policy="ignore",
        allow_environment_host=(" mirror.example ",),
        allow_verifier_host=("judge.example",),
        mounts='[{"type": "bind", "source": "/data", "target": "/data"}]',
        extra_docker_compose=(Path("/srv/gpu.yaml"),),
        verifier="judges:Panel",
        verifier_kwarg=("votes=3",),
        verifier_env=("STRICT=yes",),
    )
    assert overlaid(tuning.block(), EngineChoices(override_cpus=2, unverified=True).block()) == {
        "timeout_multiplier": 2.0,
        "agent_setup_timeout_multiplier": 0.5,
        "environment": {
            "cpu_enforcement_policy": "limit",
            "memory_enforcement_policy": "ignore",
            "extra_allowed_hosts": ["mirror.example"],
            "mounts": [{"type": "bind", "source": "/data", "target": "/data"}],
            "extra_docker_compose": ["/srv/gpu.yaml"],
            "override_cpus": 2,
        },
        "verifier": {
            "extra_allowed_hosts": ["judge.example"],
            "import_path": "judges:Panel",
            "kwargs": {"votes": 3},
            "env": {"STRICT": "yes"},
            "disable": True,
        },
    }


def test_effort_is_an_argument_of_the_agent_that_a_plain_one_wins_over() -> None:
    choices = AgentChoices(agent="codex", model="openai/gpt-5", effort="high")
    assert kwargs_of(choices) == {"reasoning_effort": "high"}
    assert kwargs_of(replace(choices, agent_kwarg=("reasoning_effort=low",))) == {"reasoning_effort": "low"}


def kwargs_of(choices: AgentChoices) -> object:
    (config,) = choices.configs(NOTHING, {}, Sources())
    return config["agent_config"]["kwargs"]


def test_the_policies_are_those_of_harbor() -> None:
    from harbor.models.trial.config import ResourceMode

    assert tuple(mode.value for mode in ResourceMode) == POLICIES


@pytest.mark.parametrize(
    ("tuning", "option"),
    [
        (Tuning(mounts="/data:/data"), "--mounts"),
        (Tuning(mounts='{"source": "/data"}'), "--mounts"),
        (Tuning(mounts='["/data"]'), "--mounts"),
        (Tuning(allow_environment_host=("https://x.example",)), "--allow-environment-host"),
        (Tuning(allow_verifier_host=("",)), "--allow-verifier-host"),
        (Tuning(verifier_env=("STRICT",)), "--ve"),
        (Tuning(verifier_kwarg=("votes",)), "--verifier-kwarg"),
        (Tuning(agent_timeout_multiplier=float("inf")), "--agent-timeout-multiplier"),
    ],
)
def test_what_makes_no_sense_is_refused_by_the_name_of_its_option(tuning: Tuning, option: str) -> None:
    with pytest.raises(click.BadParameter) as refusal:
        tuning.block()
    assert refusal.value.param_hint == f"'{option}'"


@pytest.mark.parametrize(
    ("given", "attempts"),
    [
        ("", ""),
        ("-r 0", "1"),
        ("--max-retries 2", "3"),
        ("--max-trial-attempts 3", "3"),
        ("-r 2 --max-trial-attempts 3", "3"),
    ],
)
def test_retries_are_attempts_after_the_first(given: str, attempts: str) -> None:
    assert counted(given).output == f"{attempts}\n"


@pytest.mark.parametrize("given", ["-r 2 --max-trial-attempts 2", "-r -1", "-r 100"])
def test_attempts_that_contradict_themselves_are_refused(given: str) -> None:
    assert counted(given).exit_code == 2


def counted(given: str) -> Result:
    @click.command()
    @attempts_options
    def show(max_trial_attempts: int | None) -> None:
        click.echo(max_trial_attempts)

    return CliRunner().invoke(show, given.split())
