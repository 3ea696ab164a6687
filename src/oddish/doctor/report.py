"""All findings, and whether trials can run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from oddish.doctor import (
    clock,
    database,
    disk,
    docker,
    isolation,
    kept,
    localstack,
    program,
    resources,
    server,
    state,
    store,
    variables,
)
from oddish.doctor.examination import PATIENCE, Look, examine
from oddish.doctor.finding import Finding, ok, problem
from oddish.doctor.words import listed

TRIALS = "Trials"
LOOKS = (
    Look("Program", program.look),
    Look(variables.SETTINGS, variables.look),
    Look("User namespaces", isolation.look_at_namespaces),
    Look("bubblewrap", isolation.look_at_bwrap),
    Look(isolation.LOCAL, isolation.look_at_sandbox),
    Look("Control groups", isolation.look_at_control_groups),
    Look(docker.ENGINE, docker.look_at_engine),
    Look(docker.COMPOSE, docker.look_at_compose),
    Look("Resources", resources.look),
    Look("Disk", disk.look),
    Look(kept.KEPT, kept.look),
    Look(clock.CLOCK, clock.look),
    Look(state.STATE, state.look),
    Look(localstack.POSTGRES, localstack.look_at_programs),
    Look(localstack.STACK, localstack.look_at_stack),
    Look(
        database.DATABASE, database.look, advice="Check ODDISH_DATABASE_URL and that this machine reaches the server."
    ),
    Look(store.STORE, store.look, advice="Check ODDISH_STORAGE_URL, its credentials and that this machine reaches it."),
    Look(server.SERVER, server.look, local=False, advice="Check the address and that this machine reaches it."),
)
_NEEDED = {"docker": (docker.ENGINE, docker.COMPOSE), "local": (isolation.LOCAL,)}
"""Environment -> the subjects that have to be ok for it, the preferred environment first."""


@dataclass(frozen=True, slots=True)
class Report:
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        return all(finding.level != "problem" for finding in self.findings)

    def document(self) -> dict[str, object]:
        return {"ok": self.usable, "findings": [asdict(finding) for finding in self.findings]}


def report(patience: float = PATIENCE) -> Report:
    answers = examine(LOOKS, patience)
    remote = server.named()
    findings = [
        weakened(finding) if remote and look.local else finding
        for look, answer in zip(LOOKS, answers, strict=True)
        for finding in answer
    ]
    return Report((*findings, verdict(findings, remote=remote, offered=variables.offered())))


def weakened(finding: Finding) -> Finding:
    """What keeps trials from running here does not matter much to who runs them elsewhere."""
    return replace(finding, level="warning") if finding.level == "problem" else finding


def verdict(findings: Sequence[Finding], *, remote: bool, offered: Sequence[str]) -> Finding:
    """The last line. ``remote``: commands use a named server, whose workers run the trials; ``offered``: the
    environments that a worker here may use."""
    problems = list(dict.fromkeys(finding.subject for finding in findings if finding.level == "problem"))
    if problems:
        return problem(TRIALS, f"None can run until this is solved: {listed(problems)}.")
    if remote:
        return ok(TRIALS, "run where the server's workers are")
    usable = [name for name in environments(findings) if name in offered]
    if not usable:
        return problem(
            TRIALS,
            f"None of the environments that a worker here offers can be used: {listed(list(offered))}.",
            "See above what they lack, or name a server by ODDISH_API_URL.",
        )
    return ok(TRIALS, f"can run here, {' or '.join(f'in {name}' for name in usable)} (default: {usable[0]})")


def environments(findings: Sequence[Finding]) -> list[str]:
    """Where trials can run here, the default first."""
    levels: dict[str, set[str]] = {}
    for finding in findings:
        levels.setdefault(finding.subject, set()).add(finding.level)
    return [name for name, needed in _NEEDED.items() if all(levels.get(subject) == {"ok"} for subject in needed)]
