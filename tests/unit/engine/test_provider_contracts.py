"""The configuration of a trial at each provider, under Harbor's own checks, which need neither account nor library."""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harbor.environments.factory import EnvironmentFactory
from harbor.models.task.config import EnvironmentConfig, NetworkPolicy
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.paths import TrialPaths
from harbor.utils.optional_import import MissingExtraError

from oddish.engine.config import trial_config
from oddish.engine.protocol import VERSION, Run
from oddish.environments import Facts, read_environments

PROVIDERS = ("daytona", "e2b", "modal", "runloop", "gke", "ec2")
OF_THE_DEPLOYMENT: dict[str, dict[str, object]] = {
    "ec2": {"region": "eu-central-1", "ami_id": "ami-1"},
    "gke": {
        "cluster_name": "evals",
        "region": "europe-west4",
        "namespace": "trials",
        "registry_location": "europe-west4",
        "registry_name": "images",
        "project_id": "project",
    },
}
OF_THE_CALLER: dict[str, dict[str, object]] = {
    "daytona": {"labels": {"run": "one"}, "auto_labels": False},
    "e2b": {"sandbox_timeout_sec": 1200, "image_user": "root"},
    "modal": {"app_name": "evals", "sandbox_timeout_secs": 600, "region": ["eu", "us"]},
    "runloop": {},
    "gke": {"memory_limit_multiplier": 1.5},
    "ec2": {},
}
OVERRIDES = {"override_cpus": 2, "override_memory_mb": 4096, "override_storage_mb": 20480, "force_build": True}

every_provider = pytest.mark.parametrize("name", PROVIDERS)
type Make = Callable[..., None]


def configured(name: str, **section: Any) -> TrialConfig:
    """As a worker builds it, from what the deployment and the caller set."""
    kwargs = {**OF_THE_CALLER[name], **section.pop("kwargs", {})}
    run = Run(
        type="run",
        version=VERSION,
        attempt="t-0.1-abc",
        task_dir="/tasks/t",
        trials_dir="/trials",
        trial_name="t-0.1-abc",
        agent="oracle",
        model=None,
        agent_kwargs={},
        agent_env={},
        environment=name,
        environment_kwargs=OF_THE_DEPLOYMENT.get(name, {}),
        env={},
        harbor={"environment": {**section, "kwargs": kwargs}},
        deadline_sec=60.0,
    )
    return trial_config(run)


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Constructs the environment of a trial as far as that goes without the library of its provider."""
    trial_paths = TrialPaths(trial_dir=tmp_path / "trial")
    trial_paths.mkdir()

    def construct(name: str, task: dict[str, Any] | None = None, **section: Any) -> None:
        environment = configured(name, **section).environment
        module = sys.modules[EnvironmentFactory.get_environment_class(environment.type).__module__]
        for flag in [attribute for attribute in vars(module) if attribute.startswith("_HAS_")]:
            monkeypatch.setattr(module, flag, True)  # most look for their library first, and at what is asked for then
        directory = tmp_path / "environment"
        directory.mkdir(exist_ok=True)
        (directory / "Dockerfile").write_text("FROM debian:bookworm-slim\n")
        asked = dict(task or {})
        policy = NetworkPolicy(**asked.pop("network", {}))
        with contextlib.suppress(MissingExtraError, ModuleNotFoundError):
            EnvironmentFactory.create_environment_from_config(
                config=environment,
                environment_dir=directory,
                environment_name="task",
                session_id="t-0__env",
                trial_paths=trial_paths,
                task_env_config=EnvironmentConfig(**asked),
                network_policy=policy,
            )

    return construct


@every_provider
def test_what_a_trial_is_configured_with_passes_harbors_own_checks(name: str, make: Make) -> None:
    config = configured(name, **OVERRIDES)
    assert config.environment.type is not None
    assert config.environment.type.value == name
    assert config.environment.kwargs == {**OF_THE_CALLER[name], **OF_THE_DEPLOYMENT.get(name, {})}
    EnvironmentFactory.validate_options(config.environment)
    EnvironmentFactory.validate_resource_policies(config.environment)
    make(name, **OVERRIDES)


@every_provider
def test_resources_that_are_overridden_reach_the_configuration(name: str) -> None:
    environment = configured(name, **OVERRIDES, override_gpus=1).environment
    assert (environment.override_cpus, environment.override_memory_mb) == (2, 4096)
    assert (environment.override_storage_mb, environment.override_gpus) == (20480, 1)
    assert environment.force_build


@every_provider
def test_what_the_deployment_sets_goes_before_what_the_caller_sets(name: str) -> None:
    for option, value in OF_THE_DEPLOYMENT.get(name, {}).items():
        assert configured(name, kwargs={option: "of the caller"}).environment.kwargs[option] == value


@every_provider
def test_an_option_that_we_refuse_as_unknown_is_unknown_to_harbor(name: str, make: Make) -> None:
    assert "colour" not in (read_environments()[name]["options"] or ())
    with pytest.raises(ValueError, match="colour"):
        EnvironmentFactory.validate_options(configured(name, kwargs={"colour": "red"}).environment)


@every_provider
def test_options_that_we_say_are_required_are_required_by_harbor(name: str) -> None:
    environment = configured(name).environment
    for option in set(read_environments()[name]["required"]) - {"ami_id"}:
        without = {key: value for key, value in environment.kwargs.items() if key != option}
        with pytest.raises(ValueError, match=option):
            EnvironmentFactory.validate_options(environment.model_copy(update={"kwargs": without}))


LACKS: list[tuple[str, Callable[[Facts], bool | None], dict[str, Any]]] = [
    ("GPUs of the task", lambda facts: facts["gpus"], {"task": {"gpus": 1}}),
    ("GPUs of the caller", lambda facts: facts["gpus"], {"override_gpus": 1}),
    ("a TPU", lambda facts: facts["tpus"], {"task": {"tpu": {"type": "v5e", "topology": "2x4"}}}),
    ("no network", lambda facts: facts["no_network"], {"task": {"network": {"network_mode": "no-network"}}}),
    (
        "an allowlist",
        lambda facts: facts["allowlist"],
        {"task": {"network": {"network_mode": "allowlist", "allowed_hosts": ["example.org"]}}},
    ),
]


@every_provider
@pytest.mark.parametrize(("what", "has", "asked"), LACKS, ids=[row[0] for row in LACKS])
def test_harbor_refuses_exactly_what_we_say_the_environment_lacks(
    name: str, what: str, has: Callable[[Facts], bool | None], asked: dict[str, Any], make: Make
) -> None:
    if has(read_environments()[name]):
        make(name, **asked)
        return
    with pytest.raises((ValueError, RuntimeError)):
        make(name, **asked)


@every_provider
def test_fractions_of_a_core_and_limits_are_refused_where_harbor_has_none(name: str, make: Make) -> None:
    able = EnvironmentFactory.resource_capabilities(configured(name).environment.type)
    assert able is not None
    for allowed, section in (
        (able.fractional_cpus, {"override_cpus": 0.5}),
        (able.cpu_limit, {"override_cpus": 1, "cpu_enforcement_policy": "limit"}),
        (able.memory_limit, {"override_memory_mb": 512, "memory_enforcement_policy": "limit"}),
    ):
        if allowed:
            make(name, **section)
        else:
            with pytest.raises(ValueError, match=r"(?i)cpu|memory"):
                make(name, **section)
