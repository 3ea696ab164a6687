"""What the local sandbox can never run, found in a task's definition alone. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from oddish.errors import InvalidTask
from oddish.sandbox import dockerfile, plan

_ELSEWHERE = "Choose an environment that has it, such as docker (-e docker)."


def obstacle(definition: Mapping[str, object]) -> InvalidTask | None:
    """Why no trial of a task with this stored definition can run in the local sandbox; None when nothing says so."""
    return next(_obstacles(definition), None)


def _obstacles(definition: Mapping[str, object]) -> Iterator[InvalidTask]:
    verifiers = definition.get("verifier_environments")
    for environment in (
        definition.get("environment"),
        *(verifiers if isinstance(verifiers, Sequence) and not isinstance(verifiers, str) else ()),
    ):
        if isinstance(environment, Mapping):
            yield from _needs(environment)
            yield from _dockerfile(environment)


def _needs(environment: Mapping[str, object]) -> Iterator[InvalidTask]:
    place = environment.get("directory") or "environment"
    phases = environment.get("phase_network_modes")
    modes = {environment.get("network_mode", "public"), *(phases if isinstance(phases, Sequence) else ())}
    for lacking, needed in (
        (f"services ({place}/docker-compose.yaml)", environment.get("has_compose")),
        ("Windows (environment.os)", environment.get("os") == "windows"),
        (f"GPUs (environment.gpus = {environment.get('gpus')})", environment.get("gpus")),
        ("TPUs (environment.tpu)", environment.get("needs_tpu")),
        ('list of allowed hosts (network_mode = "allowlist")', "allowlist" in modes),
        (f"network that changes between phases ({', '.join(sorted(map(str, modes)))})", len(modes) > 1),
    ):
        if needed:
            yield InvalidTask(f"The environment 'local' has no {lacking}.", fix=_ELSEWHERE)


def _dockerfile(environment: Mapping[str, object]) -> Iterator[InvalidTask]:
    text = environment.get("dockerfile")
    if not isinstance(text, str):
        return
    try:
        plan.make(dockerfile.parse(text))
    except InvalidTask as error:
        place = environment.get("directory") or "environment"
        yield InvalidTask(f"The environment 'local' refuses {place}/{error.message}", fix=error.fix)
