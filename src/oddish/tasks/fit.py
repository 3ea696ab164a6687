"""What an environment cannot give to a task, told by the task's definition alone. Pure, standard library only.

Submissions are refused by it, and ``oddish check`` shows it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from oddish.environments import read_environments
from oddish.errors import InvalidTask
from oddish.sandbox import dockerfile, plan

LOCAL = "local"
_WELL_KNOWN = ("docker", "modal", "gke")
_LINE = re.compile(r"Dockerfile( line \d+): ")
_OTHER_SYNTAX = re.compile(r"^#\s*syntax\s*=\s*(?!docker/dockerfile\b)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Finding:
    """Why no trial of a task can run in an environment."""

    what: str
    """What it takes, such as ``GPUs``; ``Dockerfile`` for one that cannot be followed."""
    where: str
    """The key with its value, the file, or its line."""
    why: str
    """A sentence."""
    fix: str
    everywhere: bool = False
    """No environment can do better."""

    @property
    def sentence(self) -> str:
        return f"{self.where}: {self.why}"


@dataclass(frozen=True, slots=True)
class Abilities:
    """What an environment can give. None: nobody knows beforehand, so that nothing is found."""

    gpus: bool | None = None
    tpus: bool | None = None
    services: bool | None = None
    no_network: bool | None = None
    allowlist: bool | None = None
    windows: bool | None = None
    changing_network: bool | None = None
    builds_images: bool | None = None
    """False: Dockerfiles are followed line by line, without a container engine."""


def abilities(environment: str) -> Abilities:
    facts = read_environments().get(environment)
    if facts is None:
        return Abilities()
    local = environment == LOCAL
    return Abilities(
        gpus=facts["gpus"],
        tpus=facts["tpus"],
        services=facts["compose"],
        no_network=facts["no_network"],
        allowlist=facts["allowlist"],
        windows=False if local else None,
        changing_network=False if local else None,
        builds_images=not local,
    )


def findings(definition: Mapping[str, object], environment: str) -> list[Finding]:
    """Everything that is known to be in the way of the task with this stored definition in ``environment``.

    A definition of an older version may lack members; nothing is found about those.
    """
    return list(dict.fromkeys(_findings(definition, environment)))


def _findings(definition: Mapping[str, object], environment: str) -> Iterator[Finding]:
    able = abilities(environment)
    own, verifiers = definition.get("environment"), definition.get("verifier_environments")
    if isinstance(own, Mapping):
        yield from _of(own, environment, able, "environment")
    for place in _list(verifiers):
        if isinstance(place, Mapping):
            yield from _of(place, environment, able, "verifier.environment")


def _of(wanted: Mapping[str, object], environment: str, able: Abilities, table: str) -> Iterator[Finding]:
    for what, where, ability, needed in _needs(wanted, table):
        if needed and getattr(able, ability) is False:
            yield Finding(what, where, f"The environment {environment!r} has no {what}.", _elsewhere(ability))
    if able.builds_images is not None:
        yield from _dockerfile(wanted, environment, builds_images=able.builds_images)


def _needs(wanted: Mapping[str, object], table: str) -> Iterator[tuple[str, str, str, bool]]:
    """What, where, the ability and whether it is needed.

    Networks of tasks with services are left to the engine: there it depends on more than the environment.
    """
    phases, usual = wanted.get("phase_network_modes"), wanted.get("network_mode", "public")
    modes = {usual, *_list(phases)}
    alone = not wanted.get("has_compose")
    yield "GPUs", f"{table}.gpus = {wanted.get('gpus')}", "gpus", bool(wanted.get("gpus"))
    yield "TPUs", f"{table}.tpu", "tpus", bool(wanted.get("needs_tpu"))
    yield "Windows", f'{table}.os = "windows"', "windows", wanted.get("os") == "windows"
    yield "services", f"{_directory(wanted)}/docker-compose.yaml", "services", not alone
    yield "way to close the network", 'network_mode = "no-network"', "no_network", alone and "no-network" in modes
    yield "list of allowed hosts", 'network_mode = "allowlist"', "allowlist", alone and "allowlist" in modes
    changing = f"network_mode = {', '.join(sorted(map(str, modes)))}"
    yield "network that changes between phases", changing, "changing_network", alone and len(modes) > 1


def _elsewhere(ability: str) -> str:
    able = next((name for name in _WELL_KNOWN if getattr(abilities(name), ability) is not False), None)
    return f"Choose an environment that has it{f', such as {able} (-e {able})' if able else ''}."


def _dockerfile(wanted: Mapping[str, object], environment: str, *, builds_images: bool) -> Iterator[Finding]:
    """What cannot be followed in it. A container engine is left to say so where it may read it in another way."""
    text = wanted.get("dockerfile")
    if not isinstance(text, str):
        return
    try:
        plan.make(dockerfile.parse(text))
    except InvalidTask as error:
        mistake = not isinstance(error, dockerfile.NeedsEngine) and not _may_be_read_otherwise(wanted, text)
        if builds_images and not mistake:
            return
        file = f"{_directory(wanted)}/Dockerfile"
        if line := _LINE.match(error.message):
            where, said = f"{file}{line[1]}", error.message[line.end() :]
        else:
            where, said = file, error.message
        why = f"It cannot be built: {said}" if mistake else f"The environment {environment!r} refuses it: {said}"
        yield Finding("Dockerfile", where, why, error.fix or "", everywhere=mistake)


def _may_be_read_otherwise(wanted: Mapping[str, object], text: str) -> bool:
    return bool(wanted.get("docker_image") or wanted.get("has_compose") or _OTHER_SYNTAX.search(text))


def _directory(wanted: Mapping[str, object]) -> object:
    return wanted.get("directory") or "environment"


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()
