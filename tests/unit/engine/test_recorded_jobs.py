"""Every recorded trial and job, column by column, through the readers and under all three policies."""

from itertools import groupby

import pytest

from oddish.engine.evidence import TrialEvidence, read_evidence
from oddish.engine.jobs import JobFacts, read_job
from oddish.engine.results import TrialFacts, attempt_facts, read_trial
from oddish.engine.rewards import reward_files
from oddish.outcome import AttemptFacts, Outcome, StrictTrial, judge, measured_cell, strict_outcome
from support.harbor_jobs import JOBS, TRIALS, Expected
from support.printing import show

every_trial = pytest.mark.parametrize("expected", TRIALS, ids=lambda expected: expected.trial)


def read(expected: Expected) -> tuple[TrialFacts, TrialEvidence, AttemptFacts]:
    facts = read_trial(expected.directory)
    evidence = read_evidence(expected.directory, [step.name for step in facts.steps])
    return facts, evidence, attempt_facts(facts, None, "lost" if facts.problem else "done", evidence.reported_tests)


def test_the_table_covers_every_recorded_trial() -> None:
    recorded = {(path.name, trial) for path in JOBS.iterdir() for trial in read_job(path).trials}
    assert recorded == {(expected.job, expected.name) for expected in TRIALS}
    assert len(recorded) == len(TRIALS) == 36


@every_trial
def test_a_recorded_trial_reads_as_listed(expected: Expected) -> None:
    facts, _, _ = read(expected)
    assert facts.problem == (None if expected.has_result else "missing")
    assert (facts.rewards, facts.reward_valid) == (expected.rewards, expected.reward_valid)
    assert [exception.type for exception in facts.exceptions] == ([expected.exception] if expected.exception else [])
    assert (facts.usage.input_tokens, facts.usage.cache_tokens, facts.usage.output_tokens) == expected.tokens
    assert facts.usage.cost_usd == pytest.approx(expected.cost_usd)
    if expected.has_result:
        assert (facts.task_name, facts.agent, facts.model) == (expected.task, expected.agent, expected.model)


@every_trial
def test_the_evidence_of_a_recorded_trial_reads_as_listed(expected: Expected) -> None:
    facts, evidence, judged = read(expected)
    number, counts = expected.tests or (None, {})
    assert judged.reported_tests == number
    assert judged.evidence == ("none" if number is None else "ctrf" if number else "empty")
    if evidence.tests:
        assert {name: evidence.tests[name] for name in ("passed", "failed", "skipped", "pending", "other")} == {
            **dict.fromkeys(("passed", "failed", "skipped", "pending", "other"), 0),
            **counts,
        }
    steps = evidence.trajectory
    assert facts.has_trajectory is (steps is not None) is (expected.steps is not None)
    if steps and expected.steps:
        assert {source: count for source, count in steps.steps_by_source.items() if count} == expected.steps
        assert steps.steps == sum(expected.steps.values())


@every_trial
def test_a_recorded_trial_is_judged_as_listed(expected: Expected) -> None:
    _, _, judged = read(expected)
    listed = expected.verdict
    outcome = judge(judged)
    assert (outcome.status, outcome.reasons, outcome.retry) == (listed.status, listed.reasons, listed.retry)
    assert outcome.overridden is listed.overridden
    assert outcome.usable is (listed.status == "success")
    strict, measured = judge(judged, policy="strict"), judge(judged, policy="measured")
    assert (strict.reasons, strict.reward_valid) == (listed.strict, not listed.strict)
    assert (measured.reasons, measured.reward_valid) == (listed.measured, not listed.measured)
    assert outcome.reward == strict.reward == measured.reward == expected.reward


@every_trial
def test_the_files_of_a_recorded_verifier_hold_what_harbor_recorded(expected: Expected) -> None:
    facts, _, _ = read(expected)
    if facts.steps:
        found = [reward_files(expected.directory, step.name) for step in facts.steps]
        assert found == [(step.rewards, None) for step in facts.steps]
    else:
        rewards, problem = reward_files(expected.directory)
        assert rewards == facts.rewards
        unread = "malformed" if expected.job == "08-garbage-reward" else "missing"
        assert problem == (None if expected.rewards else unread)


@pytest.mark.parametrize("job", sorted({expected.job for expected in TRIALS}))
def test_the_job_record_agrees_with_its_trials(job: str) -> None:
    facts, rows = read_job(JOBS / job), [expected for expected in TRIALS if expected.job == job]
    ended = [row for row in rows if row.has_result]
    assert facts.problem is None
    assert facts.counts["completed"] == len(ended)
    assert facts.counts["errored"] == sum(row.exception is not None for row in ended)
    assert facts.counts["cancelled"] == sum(row.exception == "CancelledError" for row in ended)
    assert sum(figures.valid for figures in facts.evals.values()) == sum(row.reward_valid is True for row in ended)
    assert sum(figures.errored for figures in facts.evals.values()) == facts.counts["errored"]
    counted = {
        (name, value, trial)
        for figures in facts.evals.values()
        for name, values in figures.rewards.items()
        for value, trials in values.items()
        for trial in trials
    }
    assert counted == {
        (name, value, row.name) for row in ended if row.reward_valid for name, value in (row.rewards or {}).items()
    }
    known = [row.tokens[0] for row in rows if row.tokens[0] is not None]
    assert facts.usage.input_tokens == (sum(known) if known else None)


def test_a_job_that_was_killed_stays_unfinished() -> None:
    killed, interrupted = read_job(JOBS / "13-killed"), read_job(JOBS / "12-cancelled-sigint")
    assert (killed.planned, killed.finished_at, len(killed.trials)) == (3, None, 2)
    names = ("completed", "errored", "running", "pending", "cancelled", "retries")
    assert killed.counts == dict(zip(names, (1, 0, 1, 1, 0, 0), strict=True))
    assert (interrupted.planned, interrupted.finished_at, len(interrupted.trials)) == (5, None, 4)
    assert interrupted.counts == dict(zip(names, (4, 2, 0, 1, 2, 0), strict=True))


def test_pass_at_k_is_as_harbor_recorded_it() -> None:
    with_rates = {
        job.name: [figures.pass_at_k for figures in read_job(job).evals.values() if figures.pass_at_k]
        for job in JOBS.iterdir()
    }
    assert {job for job, rates in with_rates.items() if rates} == {
        "01-hello-oracle",
        "02-hello-nop",
        "03-ctrf-metrics",
        "14a-terminus2-solved",
    }
    assert all(set(rate) == {2} for rates in with_rates.values() for rate in rates)


def jobs_by_agent(rows: list[Expected]) -> dict[str, list[StrictTrial]]:
    ordered = sorted(rows, key=lambda row: row.agent)
    return {
        agent: [StrictTrial(row.name, read(row)[2]) for row in of_agent]
        for agent, of_agent in groupby(ordered, key=lambda row: row.agent)
    }


@pytest.mark.parametrize(
    ("job", "job_status", "status", "valid", "counts", "verifier"),
    [
        ("01-hello-oracle", "succeeded", "unverified", False, (3, 0, 3), ("none", 0)),
        ("03-ctrf-metrics", "succeeded", "scored", True, (3, 0, 3), ("ctrf", 7)),
        ("04-zero-tests", "succeeded", "unverified", False, (1, 0, 1), ("empty", 0)),
        ("06-agent-timeout", "failed", "errored", False, (2, 2, 0), ("none", 0)),
        ("07-no-reward-file", "failed", "errored", False, (0, 1, 0), ("none", 0)),
        ("08-garbage-reward", "failed", "errored", False, (0, 3, 0), ("none", 0)),
        ("09-broken-build", "failed", "errored", False, (0, 1, 0), ("none", 0)),
        ("11-separate-verifier", "succeeded", "scored", True, (2, 0, 2), ("ctrf", 3)),
        ("12-cancelled-sigint", "succeeded", "errored", False, (2, 2, 2), ("none", 0)),
        ("13-killed", "succeeded", "errored", False, (1, 1, 1), ("none", 0)),
        ("14a-terminus2-solved", "succeeded", "scored", True, (4, 0, 4), ("ctrf", 4)),
        ("14c-terminus2-rate-limit", "failed", "errored", False, (1, 1, 0), ("ctrf", 4)),
        ("14d-terminus2-heredoc-hang", "failed", "errored", False, (1, 1, 0), ("ctrf", 4)),
        ("15-agent-raises", "failed", "errored", False, (1, 1, 0), ("none", 0)),
        ("16-no-verification", "failed", "unverified", False, (0, 0, 0), ("none", 0)),
    ],
)
def test_a_recorded_job_comes_to_the_listed_strict_outcome(
    job: str, job_status: str, status: str, valid: bool, counts: tuple[int, int, int], verifier: tuple[str, int]
) -> None:
    outcome = strict_outcome(jobs_by_agent([row for row in TRIALS if row.job == job]))
    assert (outcome.job_status, outcome.status, outcome.valid_for_scoring) == (job_status, status, valid)
    assert (outcome.scored, outcome.errored, outcome.successful) == counts
    assert (outcome.evidence, outcome.tests) == verifier


def in_words(outcome: Outcome) -> str:
    return "valid" if outcome.reward_valid else "no reward" if outcome.reward is None else "not valid"


def test_the_verdicts_on_recorded_trials_can_be_read() -> None:
    rows = []
    for expected in TRIALS:
        facts, evidence, judged = read(expected)
        harbor, strict = judge(judged), judge(judged, policy="strict")
        measured = judge(judged, policy="measured")
        assert measured.reward_valid is (measured_cell([measured.reward]).measured == 1)
        usage, tests = facts.usage, judged.reported_tests
        tokens = (usage.input_tokens, usage.cache_tokens, usage.output_tokens)
        rows.append(
            [
                *(expected.job, expected.name, harbor.reward, [exception.type for exception in facts.exceptions]),
                *(facts.reward_valid, judged.evidence + (f" {tests}" if tests else "")),
                None if tokens[0] is None else "/".join(map(str, tokens)),
                evidence.trajectory.steps if evidence.trajectory else None,
                harbor.status + (" (overridden)" if harbor.overridden else ""),
                *((in_words(outcome), *outcome.reasons) for outcome in (harbor, strict, measured)),
            ]
        )
    headings = "job trial reward exceptions reward_valid evidence tokens steps status harbor strict measured"
    show(f"{len(rows)} recorded trials", headings.split(), rows)
    assert len(rows) == 36


def test_a_directory_that_is_no_job_reads_as_one_without_a_record() -> None:
    assert read_job(JOBS / "none") == JobFacts(problem="missing")
