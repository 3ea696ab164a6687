"""What this worker brings to the providers of environments: logins of its own, options of its deployment."""

import os
from collections.abc import Mapping
from pathlib import Path

from oddish.engine.protocol import Hello
from oddish.environments import EC2, login, missing_login, read_environments
from oddish.settings import Settings

CREDENTIALS = ("api_key", "password", "token")
"""How options end that Harbor would keep in the clear."""


def offered(
    settings: Settings, hello: Hello, environ: Mapping[str, str] = os.environ, home: Path | None = None
) -> tuple[list[str], dict[str, str]]:
    """The enabled environments that trials can run in here, the preferred one first, and why the others cannot."""
    usable: list[str] = []
    reasons: dict[str, str] = {}
    for name in settings.enabled_environments:
        reason = _obstacle(settings, hello, name, environ, Path.home() if home is None else home)
        if reason is None:
            usable.append(name)
        else:
            reasons[name] = reason
    return usable, reasons


def provider_login(settings: Settings, environment: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables for the process of an attempt there, and for that of no other."""
    return login(environment, environ, settings.provider_credentials.get(environment, ()))


def _obstacle(settings: Settings, hello: Hello, name: str, environ: Mapping[str, str], home: Path) -> str | None:
    if name in hello["unavailable"]:
        return hello["unavailable"][name]
    if name not in hello["environments"]:
        return f"{hello['engine']} has no such environment. Correct ODDISH_OFFERED_ENVIRONMENTS."
    own = settings.provider_credentials.get(name, ())
    missing = None if any(environ.get(variable) for variable in own) else missing_login(name, environ, home)
    return missing or _misconfigured(settings, name)


def _misconfigured(settings: Settings, name: str) -> str | None:
    facts, options = read_environments().get(name), settings.environment_options.get(name, {})
    if facts is None:
        return None
    unknown = sorted(options.keys() - set(facts["options"])) if facts["options"] is not None else []
    if unknown:
        return f"ODDISH_ENVIRONMENT_OPTIONS sets {', '.join(unknown)}, which {name} does not have."
    shown = sorted(option for option in options if option.endswith(CREDENTIALS))
    if shown:
        return (
            f"ODDISH_ENVIRONMENT_OPTIONS sets {', '.join(shown)}, and options are shown with every trial. "
            "Give credentials to the worker as variables."
        )
    if name == EC2 and options.get("launch_mode", "ephemeral") != "ephemeral":
        return "ODDISH_ENVIRONMENT_OPTIONS attaches trials to a machine; each one runs on a machine of its own."
    missing = [option for option in facts["required"] if option not in options]
    if missing and settings.deployment != "local":
        return f"ODDISH_ENVIRONMENT_OPTIONS does not say its {', '.join(missing)}."
    return None
