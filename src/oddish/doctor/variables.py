"""Environment variables: misspelt settings, unreadable values, proxies in the way."""

import difflib
import os
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from oddish.doctor.finding import Finding, ok, problem, warning
from oddish.doctor.words import listed
from oddish.own_variables import CLIENT, STACK, TESTS
from oddish.settings import PREFIX, VARIABLES, Settings, variable

SETTINGS, PROXIES = "Settings", "Proxies"
OTHERS = frozenset({*CLIENT, *STACK, *TESTS})
_FOR_TESTS = "ODDISH_TEST_"
_PROXY_NAMES = ("http_proxy", "https_proxy", "all_proxy")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "*"})


def look() -> Iterator[Finding]:
    yield from judge_names(os.environ)
    yield from judge_values()
    yield judge_proxies(os.environ)


def known() -> frozenset[str]:
    return OTHERS | VARIABLES


def offered() -> list[str]:
    """The environments that workers here are told to offer."""
    try:
        return Settings().offered_environments
    except Exception:  # noqa: BLE001 - unreadable settings are a finding of their own
        return list(Settings.model_fields["offered_environments"].default)


def judge_names(environ: Mapping[str, str]) -> Iterator[Finding]:
    """One finding for each variable that looks like a setting and is none; an ok with those that are set."""
    settings = known()
    ours = sorted(name for name in environ if name.upper().startswith(PREFIX) or name.upper() in settings)
    unknown = [name for name in ours if name.upper() not in settings and not name.startswith(_FOR_TESTS)]
    for name in unknown:
        near = difflib.get_close_matches(name.upper(), settings, n=1, cutoff=0.75)
        yield warning(
            SETTINGS, f"{name} is no setting and has no effect.", f"Write {near[0]}." if near else "Unset it."
        )
    if not unknown:
        yield ok(SETTINGS, listed(ours) if ours else "none set: the defaults hold")


def judge_values() -> Iterator[Finding]:
    """One finding for each value that the server and the worker would refuse; the value itself is not shown."""
    try:
        Settings()
    except ValidationError as error:
        for entry in error.errors(include_url=False, include_input=False, include_context=False):
            name = "".join(variable(part) if part in Settings.model_fields else str(part) for part in entry["loc"][:1])
            said = entry["msg"].removeprefix("Value error, ").rstrip(".")
            yield problem(
                SETTINGS, f"{name}: {said}." if name else f"{said}.", "Correct it, or unset it for the default."
            )


def judge_proxies(environ: Mapping[str, str]) -> Finding:
    proxies = sorted(name for name in environ if name.lower() in _PROXY_NAMES and environ[name])
    spared = {host.strip().lower() for name in ("no_proxy", "NO_PROXY") for host in environ.get(name, "").split(",")}
    if not proxies:
        return ok(PROXIES, "none")
    if not spared & _LOOPBACK:
        return warning(
            PROXIES,
            f"{listed(proxies)} would also take what is meant for this machine. oddish itself goes past it there; your "
            "browser and scripts may not.",
            "Set NO_PROXY=127.0.0.1,localhost",
        )
    return ok(PROXIES, f"{listed(proxies)}, not for this machine")
