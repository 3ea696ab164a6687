"""What must be true after any faults whatever. Pure: it judges collected facts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from chaos.facts import ENDED, OVER, AttemptRow, Change, Facts, Stored, TrialRow
from oddish.queue.policy import MAX_LOSSES

SHOWN = 8
"""Failures of one check that are printed."""


@dataclass(frozen=True)
class Check:
    """``failures``: one line each."""

    name: str
    examined: int
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.failures


@dataclass(frozen=True)
class Proof:
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> frozenset[str]:
        return frozenset(check.name for check in self.checks if not check.passed)

    def lines(self) -> Iterator[str]:
        for check in self.checks:
            yield f"{check.name:<52}{check.examined:>8}  {'OK' if check.passed else 'FAILED'}"
            yield from (f"    {failure}" for failure in check.failures[:SHOWN])
            if len(check.failures) > SHOWN:
                yield f"    and {len(check.failures) - SHOWN} more"


def prove(facts: Facts) -> Proof:
    return Proof(tuple(Check(name, count(facts), tuple(find(facts))) for name, (count, find) in CHECKS.items()))


def _submissions(facts: Facts) -> Iterator[str]:
    """All that was asked for is there once, beside what had failed when its call was repeated and was made anew."""
    made: defaultdict[str, list[TrialRow]] = defaultdict(list)
    for trial in facts.trials:
        made[trial.experiment].append(trial)
        if trial.replaced_by is not None and trial.status != "failed":
            yield f"{trial.id} is {trial.status} and was replaced by {trial.replaced_by}"
    for promise in facts.promises:
        trials = {trial.id for trial in made[promise.experiment]}
        standing = {trial.id for trial in made[promise.experiment] if trial.replaced_by is None}
        if promise.trial_ids is None:
            yield f"{promise.experiment}: its submission was never answered"
            continue
        answered = set(promise.trial_ids)
        if len(standing) != promise.asked or not answered <= trials or (standing == trials and answered != trials):
            said = f"{promise.asked} asked for, {len(answered)} answered, {len(trials)} made"
            yield f"{promise.experiment}: {said}, {len(standing)} standing"


def _stranded(facts: Facts) -> Iterator[str]:
    yield from (f"trial {trial.id} is {trial.status}" for trial in facts.trials if trial.status not in ENDED)
    yield from (f"attempt {_label(row)} is {row.state}" for row in facts.attempts if row.state not in OVER)
    yield from (f"job {job} has not ended" for job in facts.open_jobs)
    yield from (f"trial {trial_id} had not ended in time" for trial_id in facts.late)


def _outcomes(facts: Facts) -> Iterator[str]:
    """Of a trial that ended: one attempt decided it, the last one that was recorded, and it agrees with the trial."""
    by_trial = _by_trial(facts)
    ends = Counter(change.trial for change in facts.changes if change.epoch is None and change.after in ENDED)
    for trial in facts.trials:
        attempts = by_trial[trial.id]
        if trial.status in ENDED:
            yield from _outcome(trial, attempts, ends[trial.id])
        successes = [row.epoch for row in attempts if row.status == "success"]
        if len(successes) > 1:
            yield f"{trial.id}: attempts {successes} both succeeded"
        elif successes and successes[0] != max(row.epoch for row in attempts):
            yield f"{trial.id}: it ran again after attempt {successes[0]} had succeeded"


def _outcome(trial: TrialRow, attempts: list[AttemptRow], ends: int) -> Iterator[str]:
    if ends != 1:
        yield f"{trial.id}: it ended {ends} times"
    decided = [row for row in attempts if row.epoch == trial.decided_by]
    if trial.decided_by is None:
        if trial.status == "success" or not _ended_without_attempt(trial, attempts):
            yield f"{trial.id}: {trial.status} ({trial.error}), and no attempt decided it"
    elif len(decided) != 1 or decided[0].state not in ("finished", "cancelled"):
        yield f"{trial.id}: decided by attempt {trial.decided_by}, which is {[row.state for row in decided]}"
    elif (decided[0].status == "success") != (trial.status == "success"):
        yield f"{trial.id} is {trial.status}, its attempt {trial.decided_by} {decided[0].status}"
    elif decided[0].epoch != max(row.epoch for row in attempts if row.state != "lost"):
        yield f"{trial.id}: decided by attempt {trial.decided_by}, which was not the last one recorded"


def _ended_without_attempt(trial: TrialRow, attempts: list[AttemptRow]) -> bool:
    """Cancelled while none of its attempts could record that, or lost too often."""
    lost = sum(row.state == "lost" for row in attempts)
    return trial.stage == "cancelled" or (trial.status == "failed" and lost >= MAX_LOSSES)


def _attempts(facts: Facts) -> Iterator[str]:
    """Each execution ends once and never changes afterwards; they are numbered without a gap and charged as counted."""
    ends: defaultdict[tuple[str, int], list[Change]] = defaultdict(list)
    for change in facts.changes:
        if change.epoch is not None:
            ends[change.trial, change.epoch].append(change)
    for row in facts.attempts:
        changes = ends[row.trial, row.epoch]
        if row.state in OVER and [change.before for change in changes] != ["running"]:
            path = " then ".join(f"{change.before} to {change.after}" for change in changes)
            yield f"{_label(row)} was recorded {len(changes)} times: {path}"
    by_trial = _by_trial(facts)
    for trial in facts.trials:
        epochs = sorted(row.epoch for row in by_trial[trial.id])
        if epochs != list(range(1, len(epochs) + 1)):
            yield f"{trial.id}: its attempts are numbered {epochs}"
        charged = sum(row.state != "lost" for row in by_trial[trial.id])
        if charged != trial.attempts:
            yield f"{trial.id} ({trial.status}, {trial.stage}): {trial.attempts} attempts charged, {charged} not lost"
        if charged > trial.max_attempts:
            yield f"{trial.id}: {charged} attempts of {trial.max_attempts}"


def _cancels(facts: Facts) -> Iterator[str]:
    trials = {trial.id: trial for trial in facts.trials}
    for trial_id in facts.cancels:
        trial = trials.get(trial_id)
        if trial is None or (trial.status, trial.stage) != ("failed", "cancelled"):
            seen = "missing" if trial is None else f"{trial.status} at {trial.stage}"
            yield f"{trial_id}: its cancellation was acknowledged, and it is {seen}"


def _results(facts: Facts) -> Iterator[str]:
    """A trial that succeeded has the reward of its work; work that cannot succeed has not."""
    for trial, work in _worked(facts):
        wanted = facts.expectations[work].reward
        if trial.status == "success" and trial.reward != wanted:
            yield f"{trial.id}: {work} succeeded with reward {trial.reward}, not {wanted}"


def _artifacts(facts: Facts) -> Iterator[str]:
    """Every recorded file is read back as its manifest says, nothing else is there, and what the task wrote is."""
    work_of = {trial.id: work for trial, work in _worked(facts)}
    for row in facts.attempts:
        if row.status == "success" and row.prefix is None:
            yield f"{_label(row)}: it succeeded, and nothing of it was kept"
        if row.prefix is None:
            continue
        stored = facts.stored.get(row.prefix, Stored(None, {}))
        yield from (f"{_label(row)}: {flaw}" for flaw in _flaws(row, stored))
        work = work_of.get(row.trial)
        if row.status == "success" and work is not None:
            for path, digest in facts.expectations[work].artifacts.items():
                if stored.found.get(path) != digest:
                    yield f"{_label(row)}: {path} is {stored.found.get(path)}, the task wrote {digest}"


def _flaws(row: AttemptRow, stored: Stored) -> Iterator[str]:
    listed = stored.listed
    if listed is None:
        yield "there is no manifest"
        return
    yield from (f"{path} is in the manifest only" for path in listed.keys() - stored.found.keys())
    yield from (f"{path} is not in the manifest" for path in stored.found.keys() - listed.keys())
    yield from (
        f"{path} is {stored.found[path]}, its manifest says {listed[path]}"
        for path in listed.keys() & stored.found.keys()
        if stored.found[path] != listed[path]
    )
    total = sum(digest.size for digest in listed.values())
    if (row.files, row.bytes) != (len(listed), total):
        yield f"recorded are {row.files} files of {row.bytes} bytes, in the manifest {len(listed)} of {total}"


def _worked(facts: Facts) -> Iterator[tuple[TrialRow, str]]:
    works = {promise.experiment: promise.work for promise in facts.promises}
    return ((trial, works[trial.experiment]) for trial in facts.trials if trial.experiment in works)


def _by_trial(facts: Facts) -> defaultdict[str, list[AttemptRow]]:
    found: defaultdict[str, list[AttemptRow]] = defaultdict(list)
    for row in facts.attempts:
        found[row.trial].append(row)
    return found


def _label(row: AttemptRow) -> str:
    return f"{row.trial}/{row.epoch}"


type Find = Callable[[Facts], Iterable[str]]
type Count = Callable[[Facts], int]

SUBMISSIONS = "each submission made its trials once"
STRANDED = "no trial, attempt or job is stranded"
OUTCOMES = "each trial has one recorded outcome"
ATTEMPTS = "each attempt is recorded once"
CANCELS = "each acknowledged cancellation holds"
RESULTS = "each success has the reward of its work"
ARTIFACTS = "each artifact is as its manifest and task say"
EVENTS = "no live event comes after its attempt"
COUNTERS = "no counter drifts"
LEFTOVERS = "nothing is left"
DEFECTS = "no server or worker met an unexpected error"

CHECKS: dict[str, tuple[Count, Find]] = {
    SUBMISSIONS: (lambda facts: len(facts.promises), _submissions),
    STRANDED: (lambda facts: len(facts.trials) + len(facts.attempts), _stranded),
    OUTCOMES: (lambda facts: len(facts.trials), _outcomes),
    ATTEMPTS: (lambda facts: len(facts.attempts), _attempts),
    CANCELS: (lambda facts: len(facts.cancels), _cancels),
    RESULTS: (lambda facts: sum(trial.status == "success" for trial in facts.trials), _results),
    ARTIFACTS: (lambda facts: sum(len(stored.found) for stored in facts.stored.values()), _artifacts),
    EVENTS: (
        lambda facts: len(facts.events),
        lambda facts: [f"an event of {event.attempt}" for event in facts.events if event.late],
    ),
    COUNTERS: (lambda facts: 1, lambda facts: facts.drift),
    LEFTOVERS: (lambda facts: 1, lambda facts: [f"{left.kind} {left.name}" for left in facts.leftovers]),
    DEFECTS: (lambda facts: 1, lambda facts: facts.defects),
}
