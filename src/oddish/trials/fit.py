"""What an environment can never give to a task, by what is known of it beforehand. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from oddish.environments import Facts, read_environments


def unfitness(environment: str, definition: Mapping[str, object]) -> str | None:
    """Why no trial of a task with this stored definition can run there, as a sentence; None when nothing says so."""
    facts = read_environments().get(environment)
    lacking = None if facts is None else next(_lacking(facts, definition), None)
    return None if lacking is None else f"The task asks for {lacking}, which the environment {environment!r} lacks."


def _lacking(facts: Facts, definition: Mapping[str, object]) -> Iterator[str]:
    verifiers = definition.get("verifier_environments")
    for environment in (definition.get("environment"), *(verifiers if isinstance(verifiers, list) else ())):
        if isinstance(environment, Mapping):
            yield from _of(facts, environment)


def _of(facts: Facts, environment: Mapping[str, object]) -> Iterator[str]:
    """Networks of tasks with services are left to the engine: there it depends on more than the environment."""
    phases = environment.get("phase_network_modes")
    modes = {environment.get("network_mode", "public"), *(phases if isinstance(phases, Sequence) else ())}
    alone = not environment.get("has_compose")
    if environment.get("gpus") and facts["gpus"] is False:
        yield f"{environment['gpus']} GPU(s)"
    if environment.get("needs_tpu") and facts["tpus"] is False:
        yield "a TPU"
    if not alone and facts["compose"] is False:
        yield f"services ({environment.get('directory') or 'environment'}/docker-compose.yaml)"
    if alone and "no-network" in modes and facts["no_network"] is False:
        yield 'no network (network_mode = "no-network")'
    if alone and "allowlist" in modes and facts["allowlist"] is False:
        yield 'a list of allowed hosts (network_mode = "allowlist")'
