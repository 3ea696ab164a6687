"""What this deployment allows, limits and opens to submissions, from its settings."""

from datetime import timedelta

from oddish.pricing import Prices
from oddish.queue.keys import Limits
from oddish.settings import Settings
from oddish.trials.doors import ALL, Door, Doors
from oddish.trials.environments import Environments
from oddish.trials.policy import Policy


def policy(settings: Settings, prices: Prices) -> Policy:
    return Policy(
        max_attempts=settings.max_trial_attempts,
        secret_retention=timedelta(days=settings.secret_retention_days),
        local=settings.deployment == "local",
        harbor_sources=settings.harbor_sources,
        harbor_repository=settings.harbor_repository,
        doors=doors(settings),
        environments=environments(settings),
        prices=prices,
    )


def limits(settings: Settings) -> Limits:
    """Of the queue."""
    return Limits(
        default=settings.default_concurrency,
        baseline=settings.baseline_concurrency,
        overrides=settings.model_concurrency_overrides,
        providers=settings.provider_concurrency,
        organisation=settings.organisation_concurrency,
        gateway=settings.gateway_concurrency,
        archives=settings.archive_concurrency,
    )


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
