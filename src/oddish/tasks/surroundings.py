"""Which sandboxes a task asks for beside its own, and what network its phases ask for. Standard library only.

What is taken from where is the engine's rule, as in ``structure``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oddish.tasks.structure import has_own_image, is_separate, verifier_candidates

_ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Place:
    """A sandbox: its configuration, where its files are below the task, and the network modes of what runs in it."""

    config: dict[str, Any]
    directory: str
    phase_network_modes: tuple[str, ...]


def agent_networks(config: dict[str, Any]) -> tuple[str, ...]:
    """The network modes that agents, and verifiers beside them, ask for in the task's own sandbox."""
    modes: dict[str, None] = {}
    for step in _steps(config):
        modes |= dict.fromkeys(_phase_modes(config, step, "agent"))
        if not is_separate(config, step):
            modes |= dict.fromkeys(_phase_modes(config, step, "verifier"))
    return tuple(modes)


def verifier_places(root: Path, config: dict[str, Any]) -> tuple[Place, ...]:
    """The sandboxes of verifiers that have their own, each once."""
    places = [_place(root, config, step) for step in _steps(config) if is_separate(config, step)]
    return tuple(place for number, place in enumerate(places) if place not in places[:number])


def _place(root: Path, config: dict[str, Any], step: dict[str, Any] | None) -> Place:
    modes = tuple(_phase_modes(config, step, "verifier"))
    candidates = verifier_candidates(config, step)
    own = next((environment for environment, _ in candidates if environment is not None), None)
    base = config.get(_ENVIRONMENT, {})
    for environment, directory in candidates:
        if has_own_image(root / directory, environment):
            image = (environment or {}).get("docker_image")
            return Place({**(own or base), "docker_image": image}, directory, modes)
    inherited = {"docker_image": base.get("docker_image"), "os": (own or base).get("os", base.get("os", "linux"))}
    return Place({**(own or base), **inherited}, _ENVIRONMENT, modes)


def _steps(config: dict[str, Any]) -> list[dict[str, Any] | None]:
    return list(config.get("steps") or []) or [None]


def _phase_modes(config: dict[str, Any], step: dict[str, Any] | None, role: str) -> Iterator[str]:
    for section in ((step or {}).get(role, {}), config.get(role, {})):
        if mode := section.get("network_mode"):
            yield mode
            return
