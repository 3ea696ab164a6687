"""Where a sandbox differs from the container that a task was written for: short sentences for its record."""

from dataclasses import dataclass

from oddish.sandbox.plan import Plan

_NO_GROUPS = "control groups are not writable for this worker (run it as root, or delegate one to its user)"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the machine and the task bring."""

    system: str
    """Name and version of the host's system."""
    privileged: bool
    controllers: frozenset[str]
    """Of memory, pids and cpu, what can be bounded."""
    network: bool
    cpus: float | None = None
    """What the task asks for, where it is not a ceiling."""
    memory_mb: int | None = None


def notes(plan: Plan, image: str, here: Circumstances) -> tuple[str, ...]:
    """``image`` is the one that the task names; everything that matters for believing a result, and nothing else."""
    result = [f"the image {image} is replaced by this machine's own system, {here.system}"]
    if not here.privileged:
        result.append("an ordinary user started it: /usr, /etc and /opt are read-only, and root is the only user")
    if here.network:
        result.append("the network is this machine's own: ports are shared with everything that runs on it")
    if here.cpus is not None:
        ceiling = (
            "a share of the machine under load, no ceiling"
            if "cpu" in here.controllers
            else f"not enforced: {_NO_GROUPS}"
        )
        result.append(f"cpus = {here.cpus:g} is {ceiling}")
    if here.memory_mb is not None and "memory" not in here.controllers:
        result.append(f"memory_mb = {here.memory_mb} is not enforced: {_NO_GROUPS}")
    return (*result, *plan.notes)
