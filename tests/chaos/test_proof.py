"""The proof, on facts that are written down here: it says nothing of a sound world and names each flaw of another."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from chaos import proof
from chaos.facts import AttemptRow, Change, Digest, Expectation, Facts, Heard, Leftover, Promise, Stored, TrialRow
from chaos.proof import prove
from oddish.queue.policy import MAX_LOSSES

DIGEST, OTHER = Digest(3, "aa"), Digest(3, "bb")
TRIAL = TrialRow("t", "e", "success", "completed", 1, 3, 2, 1.0, None)
LOST = AttemptRow("t", 1, "w1", "lost", None, None, None, None)
WON = AttemptRow("t", 2, "w2", "finished", "success", "p", 1, 3)
STOPPED = TrialRow("c", "f", "failed", "cancelled", 0, 3, None, None, "Cancelled by user")
SOUND = Facts(
    promises=[Promise("e", "work", 1, ("t",)), Promise("f", "endless", 1, ("c",))],
    expectations={"work": Expectation(1.0, {"a": DIGEST}), "endless": Expectation(None)},
    cancels=["c"],
    trials=[TRIAL, STOPPED],
    attempts=[LOST, WON],
    changes=[
        Change("t", None, "queued", "running"),
        Change("t", 1, "running", "lost"),
        Change("t", 2, "running", "finished"),
        Change("t", None, "running", "success"),
        Change("c", None, "queued", "failed"),
    ],
    late=[],
    open_jobs=[],
    drift=[],
    stored={"p": Stored({"a": DIGEST}, {"a": DIGEST})},
    leftovers=[],
    events=[Heard("t/2", late=False)],
)


def with_trial(**changed: object) -> Facts:
    return replace(SOUND, trials=[replace(TRIAL, **changed), STOPPED])  # type: ignore[arg-type]


def with_attempts(*attempts: AttemptRow) -> Facts:
    return replace(SOUND, attempts=attempts)


def with_stored(listed: Mapping[str, Digest] | None, found: Mapping[str, Digest]) -> Facts:
    return replace(SOUND, stored={"p": Stored(listed, found)})


FLAWED: dict[str, tuple[str, Callable[[], Facts]]] = {
    "a submission made a trial twice": (
        proof.SUBMISSIONS,
        lambda: replace(SOUND, trials=[*SOUND.trials, replace(TRIAL, id="t2")]),
    ),
    "two answers to one submission differ": (
        proof.SUBMISSIONS,
        lambda: replace(SOUND, promises=[*SOUND.promises, Promise("e", "work", 1, ("u",))]),
    ),
    "a submission was never answered": (
        proof.SUBMISSIONS,
        lambda: replace(SOUND, promises=[Promise("e", "work", 1, None)]),
    ),
    "a success was replaced": (
        proof.SUBMISSIONS,
        lambda: replace(SOUND, trials=[replace(TRIAL, id="t1", replaced_by="t"), *SOUND.trials]),
    ),
    "a trial still runs": (proof.STRANDED, lambda: with_trial(status="running")),
    "an attempt still runs": (proof.STRANDED, lambda: with_attempts(replace(LOST, state="running"), WON)),
    "a job has not ended": (proof.STRANDED, lambda: replace(SOUND, open_jobs=["t"])),
    "a trial ended too late": (proof.STRANDED, lambda: replace(SOUND, late=["t"])),
    "a trial ended twice": (
        proof.OUTCOMES,
        lambda: replace(SOUND, changes=[*SOUND.changes, Change("t", None, "running", "success")]),
    ),
    "a success that no attempt decided": (proof.OUTCOMES, lambda: with_trial(decided_by=None)),
    "a success decided by a lost attempt": (proof.OUTCOMES, lambda: with_trial(decided_by=1)),
    "a failed trial whose attempt succeeded": (proof.OUTCOMES, lambda: with_trial(status="failed")),
    "two attempts that succeeded": (
        proof.OUTCOMES,
        lambda: with_attempts(replace(WON, epoch=1), WON),
    ),
    "an attempt recorded over a lost one": (
        proof.ATTEMPTS,
        lambda: replace(SOUND, changes=[*SOUND.changes, Change("t", 1, "lost", "finished")]),
    ),
    "an attempt is missing": (proof.ATTEMPTS, lambda: with_attempts(WON)),
    "a lost attempt was charged": (proof.ATTEMPTS, lambda: with_trial(attempts=2)),
    "a cancelled trial went on": (proof.CANCELS, lambda: replace(SOUND, cancels=["t"])),
    "an unknown trial was cancelled": (proof.CANCELS, lambda: replace(SOUND, cancels=["x"])),
    "a reward is wrong": (proof.RESULTS, lambda: with_trial(reward=0.0)),
    "there is no manifest": (proof.ARTIFACTS, lambda: with_stored(None, {"a": DIGEST})),
    "a file is missing": (proof.ARTIFACTS, lambda: with_stored({"a": DIGEST}, {})),
    "a file is in no manifest": (proof.ARTIFACTS, lambda: with_stored({"a": DIGEST}, {"a": DIGEST, "b": DIGEST})),
    "a file is damaged": (proof.ARTIFACTS, lambda: with_stored({"a": DIGEST}, {"a": OTHER})),
    "a file was damaged before it was hashed": (proof.ARTIFACTS, lambda: with_stored({"a": OTHER}, {"a": OTHER})),
    "a success kept nothing": (proof.ARTIFACTS, lambda: with_attempts(LOST, replace(WON, prefix=None))),
    "sizes are recorded wrongly": (proof.ARTIFACTS, lambda: with_attempts(LOST, replace(WON, bytes=4))),
    "an event comes too late": (proof.EVENTS, lambda: replace(SOUND, events=[Heard("t/1", late=True)])),
    "a counter is off": (proof.COUNTERS, lambda: replace(SOUND, drift=["key p/m"])),
    "a worker met a defect": (proof.DEFECTS, lambda: replace(SOUND, defects=["worker-1: execution failed"])),
    "something is left": (proof.LEFTOVERS, lambda: replace(SOUND, leftovers=[Leftover("mount", "/m")])),
}


def test_a_sound_world_is_proved() -> None:
    assert prove(SOUND).failed == frozenset()


@pytest.mark.parametrize("flaw", FLAWED)
def test_each_flaw_fails_its_check(flaw: str) -> None:
    check, facts = FLAWED[flaw]
    assert check in prove(facts()).failed


def test_what_had_failed_when_its_submission_was_sent_again_may_be_there_anew() -> None:
    failed = replace(STOPPED, id="c1", replaced_by="c")
    changes = [*SOUND.changes, Change("c1", None, "queued", "failed")]
    assert prove(replace(SOUND, trials=[*SOUND.trials, failed], changes=changes)).failed == frozenset()


def test_a_trial_that_lost_too_many_workers_may_fail_without_an_outcome() -> None:
    attempts = [replace(LOST, epoch=number) for number in range(1, MAX_LOSSES + 1)]
    facts = replace(
        SOUND,
        promises=[],
        cancels=[],
        trials=[replace(TRIAL, status="failed", attempts=0, decided_by=None)],
        attempts=attempts,
        changes=[
            *(Change("t", row.epoch, "running", "lost") for row in attempts),
            Change("t", None, "running", "failed"),
        ],
    )
    assert prove(facts).failed == frozenset()


def test_a_summary_names_what_failed_and_counts_the_rest() -> None:
    facts = replace(SOUND, leftovers=[Leftover("mount", f"/m{number}") for number in range(20)])
    lines = list(prove(facts).lines())
    assert any(line.startswith(proof.LEFTOVERS) and line.endswith("FAILED") for line in lines)
    assert "    mount /m0" in lines
    assert f"    and {20 - proof.SHOWN} more" in lines
