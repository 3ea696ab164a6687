"""Our environments under Harbor's own names, so that configurations and results keep those names."""

from harbor.environments import factory
from harbor.models.environment_type import EnvironmentType

from oddish.engine import release

DOCKER = "oddish.engine.environments.docker"


def names() -> list[str]:
    """What Harbor calls its environments. Its own list came with 0.26; the registry behind it is older."""
    return sorted(kind.value for kind in factory._ENVIRONMENT_REGISTRY)


def use_our_docker() -> None:
    """Make ``docker`` the environment of ``oddish.engine.environments.docker``, loaded when it is first wanted."""
    if release.is_extended():
        registry = factory._ENVIRONMENT_REGISTRY
        ours = registry[EnvironmentType.DOCKER]._replace(module=DOCKER, class_name="PromptDockerEnvironment")
        registry[EnvironmentType.DOCKER] = ours


def docker_is_ours() -> bool:
    """Whether ``use_our_docker`` made it so."""
    return factory._ENVIRONMENT_REGISTRY[EnvironmentType.DOCKER].module == DOCKER
