"""Our environments under Harbor's own names, so that configurations and results keep those names."""

from harbor.environments import factory
from harbor.models.environment_type import EnvironmentType

DOCKER = "oddish.engine.environments.docker"


def use_our_docker() -> None:
    """Make ``docker`` the environment of ``oddish.engine.environments.docker``, loaded when it is first wanted."""
    registry = factory._ENVIRONMENT_REGISTRY
    ours = registry[EnvironmentType.DOCKER]._replace(module=DOCKER, class_name="PromptDockerEnvironment")
    registry[EnvironmentType.DOCKER] = ours
