"""``scripts/chaos``: real trials, faults at random moments of them, then the proof of what must be true anyhow."""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos.clients import Ledger, User, upload
from chaos.collecting import collect
from chaos.facts import Facts
from chaos.faults import INJURIES, Faults
from chaos.plan import KINDS, Fault, Kind, plan
from chaos.proof import Proof, prove
from chaos.settling import settle
from chaos.site import Means, Site
from support.fleet import DATABASE
from support.numbers import above_zero

USERS = 2
HURRY_SECONDS = 1.5
QUIET_SECONDS = 240.0
"""How long everything may take to end once the faults are over."""


@dataclass(frozen=True)
class Result:
    """Of one run. ``skipped``: why kinds of faults were not possible here."""

    seed: int
    seconds: float
    hits: Counter[str]
    misses: Counter[str]
    skipped: dict[str, str]
    facts: Facts
    ledger: Ledger
    proof: Proof
    restarts: int

    def lines(self) -> Iterator[str]:
        yield f"seed {self.seed}: {self.hits.total()} faults in {self.seconds:.0f} s, {self.restarts} restarts"
        yield ""
        yield f"{'fault':<52}{'hit':>8}{'missed':>8}"
        for kind in KINDS:
            reason = self.skipped.get(kind.name)
            yield f"{kind.name:<52}" + (f"skipped: {reason}" if reason else self._hits(kind.name))
        yield ""
        states = Counter(row.state for row in self.facts.attempts)
        again = len({row.trial for row in self.facts.attempts if row.epoch > 1})
        for environment in sorted({trial.environment for trial in self.facts.trials}):
            trials = [trial for trial in self.facts.trials if trial.environment == environment]
            statuses = Counter(_outcome(trial.status, trial.stage) for trial in trials)
            yield f"{f'trials, {environment}':<16}{len(trials):>6}  {_counted(statuses)}"
        yield f"{'attempts':<16}{len(self.facts.attempts):>6}  {_counted(states)}; {again} trials ran more than once"
        failures = Counter((trial.error or "")[:90] for trial in self.facts.trials if trial.status == "failed")
        for error, count in failures.most_common(6):
            yield f"{'failed':<16}{count:>6}  {error}"
        refusals = ", ".join(f"{count} {name}" for name, count in self.ledger.refusals.most_common(4))
        yield f"{'calls repeated':<16}{self.ledger.refusals.total():>6}  {refusals}"
        yield ""
        yield from self.proof.lines()
        yield ""
        yield "PROVED" if self.proof.passed else "FAILED: " + "; ".join(sorted(self.proof.failed))

    def _hits(self, kind: str) -> str:
        return f"{self.hits[kind]:>8}{self.misses[kind]:>8}"


def _outcome(status: str, stage: str | None) -> str:
    return "cancelled" if stage == "cancelled" else status


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def run(seed: int, seconds: float, directory: Path, said: Callable[[str], None]) -> Result:
    """One seed from an empty deployment to the proof."""
    means = Means.found()
    skipped = {kind.name: reason for kind in KINDS if (reason := means.lacks(kind.needs))}
    kinds: Sequence[Kind] = [kind for kind in KINDS if kind.name not in skipped]
    assert {kind.name for kind in kinds} <= INJURIES.keys()
    faults = plan(seed, seconds, kinds)
    ledger, begun = Ledger(), time.monotonic()

    def tell(fault: Fault, what: str) -> None:
        said(f"{time.monotonic() - begun:7.1f} s  {fault.kind}: {what}")

    with Site(directory, means) as site, ExitStack() as leaving:
        users = _users(site, ledger, seed)
        for user in users:
            leaving.callback(user.close)
        for name in (DATABASE, *site.fleet.servers, *site.fleet.workers):
            site.nurse(name)
        begun = time.monotonic()
        with _hurrying(site):
            for user in users:
                user.start()
            injuries = Faults(site)
            injuries.carry_out(faults, tell)
            time.sleep(max(0.0, begun + seconds - time.monotonic()))
            injuries.heal()
            lasted = time.monotonic() - begun
            said(f"{lasted:7.1f} s  the faults are over")
            fleet = site.fleet
            settled = settle(
                site,
                users,
                fleet.workers,
                fleet.servers,
                patience=QUIET_SECONDS,
                said=lambda what: said(f"{time.monotonic() - begun:7.1f} s  {what}"),
            )
        facts = collect(
            fleet, ledger, site.tag, [*fleet.servers, *fleet.workers], late=settled.late, leftovers=settled.leftovers
        )
        restarts = site.restarts
    return Result(seed, lasted, injuries.hits, injuries.misses, skipped, facts, ledger, prove(facts), restarts)


def _users(site: Site, ledger: Ledger, seed: int) -> list[User]:
    tasks = upload(site.fleet.client(site.fleet.servers[0]), site.directory / "tasks", site.tag)
    return [
        User(
            f"user{number}",
            site.urls,
            ledger,
            tasks,
            site.environments,
            site.statuses,
            random.Random(f"{seed}/{number}"),
        )
        for number in range(1, USERS + 1)
    ]


@contextmanager
def _hurrying(site: Site) -> Iterator[None]:
    over = threading.Event()

    def hurry() -> None:
        while not over.wait(HURRY_SECONDS):
            site.hurry()

    thread = threading.Thread(target=hurry, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument(
        "--minutes", type=above_zero, default=10.0, help="how long faults happen (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, action="append", help="decides every fault; may be given several times")
    parser.add_argument("--quiet", action="store_true", help="print the summaries only")
    parser.add_argument("--keep", type=Path, help="directory for logs and data, which stay there")
    options = parser.parse_args(arguments)
    seeds = options.seed or [random.randrange(1_000_000)]
    if options.keep and (taken := [seed for seed in seeds if (options.keep / f"seed-{seed}").exists()]):
        parser.error(f"{options.keep} has a run of seed {taken[0]} already")
    passed = True
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="oddish-chaos-", ignore_cleanup_errors=True) as temporary:
            directory = Path(options.keep or temporary).absolute() / f"seed-{seed}"
            result = run(seed, options.minutes * 60, directory, (lambda line: None) if options.quiet else _print)
        _print("\n" + "\n".join(result.lines()))
        passed &= result.proof.passed
    return 0 if passed else 1


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
