"""What this deployment opens to submissions, from its settings."""

from oddish.settings import Settings
from oddish.trials.doors import ALL, Door, Doors
from oddish.trials.environments import Environments


def doors(settings: Settings) -> Doors:
    """All of them in local mode, else those whose setting of the same name is on."""
    if settings.deployment == "local":
        return ALL
    return frozenset(door for door in Door if getattr(settings, door.value))


def environments(settings: Settings) -> Environments:
    return Environments(
        enabled=settings.enabled_environments,
        options=settings.environment_options,
        logins=settings.provider_credentials,
        local=settings.deployment == "local",
    )
