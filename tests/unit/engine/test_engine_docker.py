"""Our Docker environment under Harbor's name."""

import inspect

import pytest
from harbor.environments import factory
from harbor.environments.docker.docker import DockerEnvironment
from harbor.environments.factory import EnvironmentFactory
from harbor.models.environment_type import EnvironmentType

from oddish.engine.environments.docker import PromptDockerEnvironment, promptly
from oddish.engine.environments.registry import use_our_docker


def test_docker_is_ours_after_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "_ENVIRONMENT_REGISTRY", dict(factory._ENVIRONMENT_REGISTRY))
    assert EnvironmentFactory.get_environment_class(EnvironmentType.DOCKER) is DockerEnvironment
    use_our_docker()
    assert EnvironmentFactory.get_environment_class(EnvironmentType.DOCKER) is PromptDockerEnvironment
    assert PromptDockerEnvironment.type() == DockerEnvironment.type()


def test_harbor_still_runs_compose_where_we_look() -> None:
    assert next(iter(inspect.signature(DockerEnvironment._run_docker_compose_command).parameters)) == "self"
    assert '_run_docker_compose_command(["down"])' in inspect.getsource(DockerEnvironment.stop)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["down", "--rmi", "local"], ["down", "--timeout", "0", "--rmi", "local"]),
        (["stop", "main"], ["stop", "--timeout", "0", "main"]),
        (["exec", "main", "down"], ["exec", "main", "down"]),
        (["build"], ["build"]),
    ],
)
def test_only_stopping_changes(command: list[str], expected: list[str]) -> None:
    assert promptly(command) == expected
