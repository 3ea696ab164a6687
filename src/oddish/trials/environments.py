"""Where the trials of a submission may run, by the word of the deployment, and with which options. Pure."""

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from oddish.environments import EC2, login_names, read_environments
from oddish.errors import InvalidInput
from oddish.secrecy import is_secret_name
from oddish.trials.catalogue import Catalogue, Offer, UnknownEnvironment, is_import_path
from oddish.trials.credentials import TrialNames
from oddish.trials.doors import NONE, ClosedPassthrough, Door, Doors, require
from oddish.trials.passthrough import check_kwargs

ACCOUNT_WORDS = (
    "account",
    "auth",
    "auto_stop",
    "claim",
    "cluster",
    "connection",
    "context",
    "credential",
    "delete",
    "destroy",
    "dind",
    "domain",
    "eai",
    "endpoint",
    "extension",
    "gateway",
    "host",
    "iam",
    "kata_runtime",
    "keep",
    "key",
    "kubeconfig",
    "lifetime",
    "namespace",
    "org",
    "overrides",
    "persist",
    "profile",
    "project",
    "proxy",
    "registry",
    "repo",
    "reservation",
    "resource_group",
    "role",
    "sandbox_group",
    "secret",
    "server",
    "snapshot",
    "ssh",
    "suspend",
    "svc",
    "target",
    "template",
    "token",
    "ttl",
    "url",
    "vault",
    "vnet",
)
"""Parts of names of options that choose accounts, addresses, secrets or what else is kept there, what runs with more
rights than a sandbox, and what outlives a trial. A test shows what is left."""
ATTACHING = ("launch_mode", "instance_id")


def is_open(option: str) -> bool:
    """Whether anybody may set an option of this name, where the deployment does not."""
    try:
        check_kwargs("", {option: None}, NONE)
    except ClosedPassthrough:
        return False
    return not _is_of_account(option)


def _is_of_account(option: str) -> bool:
    return any(word in option.lower() for word in ACCOUNT_WORDS)


class EnvironmentNotEnabled(InvalidInput):
    """An environment of Harbor's that the deployment does not offer."""

    code = "environment_not_enabled"


class EnvironmentOption(InvalidInput):
    """An option that the environment does not have, must have, or that is not the caller's to choose."""

    code = "environment_option"


class LoginOfProvider(InvalidInput):
    """A trial that would be shown what its worker presents to the provider of its environment."""

    code = "login_of_provider"


@dataclass(frozen=True)
class Environments:
    """What the deployment lets trials run in."""

    enabled: Collection[str] | None = None
    """Names; None: whatever workers offer."""
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """By environment, what every trial there gets and no submission can change."""
    logins: Mapping[str, Collection[str]] = field(default_factory=dict)
    """By environment, variables of its provider beside those that are known."""
    local: bool = False

    def choose(self, catalogue: Catalogue, name: str | None, doors: Doors, *, any_harbor: bool) -> Offer:
        """The offer for ``name``, or the preferred one.

        Raises ``UnknownEnvironment``, ``EnvironmentNotEnabled``, ``EnvironmentUnavailable`` and, for an import path,
        ``ClosedPassthrough``.
        """
        if name is None:
            return catalogue.offer(None, any_harbor=any_harbor, only=self.enabled)
        if ":" in name:
            if not is_import_path(name):
                raise UnknownEnvironment(f"{name!r} is neither a name nor an import path.", fix="Write module:Class.")
            require(Door.IMPORT_PATHS, doors, f"The environment {name!r}, an import path,")
            return replace(catalogue.offer(None, any_harbor=any_harbor, only=self.enabled), environment=name)
        self._refuse(catalogue, name)
        return catalogue.offer(name, any_harbor=any_harbor, only=self.enabled)

    def offered(self, catalogue: Catalogue, *, any_harbor: bool) -> list[str]:
        """The environments that a trial may name and a worker can run."""
        return catalogue.environments(any_harbor=any_harbor, only=self.enabled)

    def _refuse(self, catalogue: Catalogue, name: str) -> None:
        known = read_environments().keys() | {offer.environment for offer in catalogue.offers}
        enabled = sorted(known if self.enabled is None else self.enabled)
        here = f"Enabled here: {', '.join(enabled)}." if enabled else None
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            raise UnknownEnvironment(f"There is no environment {name!r}.", fix=f"{hint}{here or ''}".strip() or None)
        if self.enabled is not None and name not in self.enabled:
            switch = " and ODDISH_EC2_ENABLED=true" if name == EC2 else ""
            raise EnvironmentNotEnabled(
                f"The environment {name!r} is not enabled here.",
                fix=f"{here} The operator enables it with ODDISH_OFFERED_ENVIRONMENTS{switch}.",
            )

    def check_options(self, name: str, options: Mapping[str, object], doors: Doors, *, any_harbor: bool) -> None:
        """Raises ``EnvironmentOption`` and ``ClosedPassthrough``, naming the option. ``any_harbor`` has others."""
        where = "harbor.environment.kwargs"
        facts, fixed = read_environments().get(name), self.options.get(name, {})
        if name == EC2:
            self._check_ec2(where, options)
        for option in options:
            if option in fixed:
                raise EnvironmentOption(f"{where}.{option} is set by this deployment.", fix="Leave it out.")
            if _is_of_account(option):
                require(Door.ACCOUNT_OPTIONS, doors, f"{where}.{option}")
        if facts is None or any_harbor:
            return
        if facts["options"] is not None:
            for option in options.keys() - set(facts["options"]):
                close = difflib.get_close_matches(option, facts["options"], n=1)
                hint = f"Did you mean {close[0]!r}? " if close else ""
                raise EnvironmentOption(
                    f"{where}.{option} is no option of the environment {name!r}.",
                    fix=f"{hint}It has: {', '.join(facts['options']) or 'none'}.",
                )
        missing = [option for option in facts["required"] if option not in options and option not in fixed]
        if missing:
            raise EnvironmentOption(
                f"The environment {name!r} needs the options {', '.join(missing)}.",
                fix=f"Give them in {where}, or have the operator set them with ODDISH_ENVIRONMENT_OPTIONS.",
            )

    def _check_ec2(self, where: str, options: Mapping[str, object]) -> None:
        """One disposable machine per trial, as the deployment sets it up."""
        for option in options:
            if option in ATTACHING:
                raise EnvironmentOption(
                    f"{where}.{option}: trials on EC2 run on a machine of their own, attached to none that exists.",
                    fix="Leave it out.",
                )
            if not self.local:
                raise EnvironmentOption(
                    f"{where}.{option}: the settings of EC2 are the deployment's.", fix="Leave it out."
                )

    def check_names(self, environment: str, named: TrialNames, definition: Mapping[str, object]) -> None:
        """Raises ``LoginOfProvider`` for a trial that names what its attempt's process holds for the provider."""
        secret = {name for name in login_names(environment, self.logins.get(environment, ())) if is_secret_name(name)}
        services = definition.get("services")
        in_services = services["variables"] if isinstance(services, Mapping) else ()
        shown = secret & {*named.names, *(reference.name for reference in named.references), *in_services}
        if shown:
            raise LoginOfProvider(
                f"The agent or the task takes {', '.join(sorted(shown))}, with which the worker itself logs in to "
                f"{environment!r}.",
                fix="Choose another environment, or another agent.",
            )
