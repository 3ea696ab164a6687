"""What holds for every attempt and every job, whatever happened."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from oddish.outcome import (
    NOT_RETRYABLE,
    POLICIES,
    REASONS,
    RETRYABLE,
    VALID_REWARD,
    AttemptFacts,
    RecordedException,
    StrictTrial,
    from_record,
    judge,
    measured_cell,
    measured_group,
    measured_summary,
    primary_reward,
    strict_outcome,
    tally,
    to_record,
)

KNOWN = sorted(VALID_REWARD | RETRYABLE | NOT_RETRYABLE)
numbers = st.sampled_from([0.0, 0.5, 1.0, -1.0]) | st.floats(allow_nan=False, allow_infinity=False)
exceptions = st.builds(
    RecordedException,
    type=st.sampled_from(["RuntimeError", "AttemptDeadlineError", "ValueError", "SurprisingError", *KNOWN]),
    message=st.sampled_from(["", "Please try again in 20s.", "Docker compose command failed x build. Return code: 1"]),
    phase=st.sampled_from(["creation", "environment_setup", "agent_setup", "agent_execution", "verifier", None]),
    occurred_at=st.none(),
    has_valid_reward=st.sampled_from([None, True, False]),
)
attempts = st.builds(
    AttemptFacts,
    ending=st.sampled_from(["done", "done", "done", "crashed", "lost"]),
    cancelled=st.sampled_from([False, False, True]),
    rewards=st.none() | st.dictionaries(st.sampled_from(["reward", "score", "other"]), numbers, max_size=3),
    exceptions=st.lists(exceptions, max_size=3).map(tuple) | st.just(()),
    verifier_disabled=st.booleans(),
    engine_reward_valid=st.sampled_from([None, True, False]),
    reported_tests=st.none() | st.integers(0, 3),
)
policies = st.sampled_from(POLICIES)
jobs = st.dictionaries(st.sampled_from(["codex", "nop"]), st.lists(attempts, max_size=4))


def of_agents(job: dict[str, list[AttemptFacts]]) -> dict[str, list[StrictTrial]]:
    return {agent: [StrictTrial(f"t{n}", facts) for n, facts in enumerate(listed)] for agent, listed in job.items()}


@given(attempts, policies, st.booleans())
def test_a_reward_is_never_rewritten(facts: AttemptFacts, policy: Any, required: bool) -> None:
    outcome = judge(facts, policy=policy, require_verifier_evidence=required)
    assert outcome.reward == primary_reward(facts.rewards)[0]
    assert outcome.policy == policy
    assert strict_outcome(of_agents({"a": [facts]})).details[0]["reward"] == outcome.reward


@given(attempts)
def test_execution_is_the_same_under_every_policy(facts: AttemptFacts) -> None:
    outcomes = [judge(facts, policy=policy) for policy in POLICIES]
    assert len({(outcome.status, outcome.retry, outcome.retry_after_sec) for outcome in outcomes}) == 1


@given(attempts)
def test_what_strict_believes_harbor_believes_and_is_measured(facts: AttemptFacts) -> None:
    trusting = judge(facts, policy="strict", require_verifier_evidence=False)
    if judge(facts, policy="strict").reward_valid:
        assert trusting.reward_valid
    if trusting.reward_valid:
        harbor = judge(facts)
        assert harbor.reward_valid
        assert harbor.status == "success"
        assert judge(facts, policy="measured").reward_valid or harbor.reasons == ("ambiguous",)


@given(attempts, policies)
def test_what_was_cancelled_is_no_success(facts: AttemptFacts, policy: Any) -> None:
    outcome = judge(replace(facts, cancelled=True), policy=policy)
    assert (outcome.status, outcome.retry) == ("cancelled", "never")
    assert not outcome.usable or policy == "measured"


@given(attempts, exceptions, policies)
def test_one_more_exception_never_makes_a_reward_count(
    facts: AttemptFacts, exception: RecordedException, policy: Any
) -> None:
    more = replace(facts, exceptions=(*facts.exceptions, exception))
    before, after = judge(facts, policy=policy), judge(more, policy=policy)
    assert before.reward_valid or not after.reward_valid
    assert before.usable or not after.usable


@given(attempts, st.permutations(range(3)), policies)
def test_the_order_of_exceptions_changes_no_verdict(facts: AttemptFacts, order: list[int], policy: Any) -> None:
    turned = [facts.exceptions[index] for index in order if index < len(facts.exceptions)]
    one, other = judge(facts, policy=policy), judge(replace(facts, exceptions=tuple(turned)), policy=policy)
    assert replace(one, reasons=()) == replace(other, reasons=())
    assert sorted(one.reasons) == sorted(other.reasons)


@given(attempts, policies)
def test_what_does_not_count_has_a_reason_from_the_vocabulary(facts: AttemptFacts, policy: Any) -> None:
    outcome = judge(facts, policy=policy)
    assert outcome.reasons or (outcome.reward_valid and outcome.reward is not None)
    assert set(outcome.reasons) <= REASONS.keys() | {exception.type for exception in facts.exceptions}


@given(attempts)
def test_recorded_facts_are_restored(facts: AttemptFacts) -> None:
    record = to_record(facts)
    assert from_record(record) == facts
    exceptions = [item | {"later": 1} for item in record["exceptions"]]
    assert from_record(record | {"later": 1, "exceptions": exceptions}) == facts
    assert from_record({"ending": facts.ending}) == AttemptFacts(facts.ending)


@given(st.lists(attempts, max_size=6), policies, st.randoms())
def test_a_tally_accounts_for_every_attempt_in_any_order(facts: list[AttemptFacts], policy: Any, rng: Any) -> None:
    outcomes = [judge(item, policy=policy) for item in facts]
    found = tally(outcomes)
    assert found.planned == len(facts) == found.scored + sum(found.left_out.values())
    assert found.passed == sum(outcome.reward_valid and outcome.reward == 1 for outcome in outcomes) <= found.scored
    rng.shuffle(outcomes)
    assert tally(outcomes) == found


@given(jobs, st.booleans())
def test_a_job_may_be_scored_iff_every_trial_may(job: dict[str, list[AttemptFacts]], required: bool) -> None:
    outcome = strict_outcome(of_agents(job), require_verifier_evidence=required)
    verdicts = [
        judge(facts, policy="strict", require_verifier_evidence=required).reward_valid
        for listed in job.values()
        for facts in listed
    ]
    assert outcome.valid_for_scoring is (bool(job) and all(job.values()) and all(verdicts))
    assert outcome.valid_for_scoring is not bool(outcome.reasons)


@given(jobs)
def test_a_job_fails_iff_nothing_came_to_a_real_result(job: dict[str, list[AttemptFacts]]) -> None:
    outcome = strict_outcome(of_agents(job))
    listed = [facts for of_agent in job.values() for facts in of_agent]
    assert (outcome.job_status == "failed") is (outcome.successful == 0)
    assert outcome.successful + outcome.errored <= len(listed)
    assert outcome.scored == sum(bool(facts.rewards) for facts in listed)
    assert (outcome.status == "errored") is (outcome.errored > 0) is bool(outcome.exceptions)
    if outcome.valid_for_scoring:
        assert (outcome.job_status, outcome.status, outcome.scored) == ("succeeded", "scored", len(listed))


@given(jobs, st.randoms(), st.booleans())
def test_the_order_of_trials_changes_nothing(job: dict[str, list[AttemptFacts]], rng: Any, required: bool) -> None:
    def outcome(trials: dict[str, list[StrictTrial]]) -> Any:
        found = strict_outcome(trials, require_verifier_evidence=required)
        return replace(found, details=tuple(sorted(found.details, key=repr)))

    trials = of_agents(job)
    before = outcome(trials)
    for listed in trials.values():
        rng.shuffle(listed)
    assert outcome(trials) == before


@given(jobs)
def test_the_agents_of_a_job_can_be_judged_alone(job: dict[str, list[AttemptFacts]]) -> None:
    trials = of_agents(job)
    alone = [strict_outcome({agent: listed}) for agent, listed in trials.items()]
    together = strict_outcome(trials)
    if alone:
        assert together.reasons == tuple(reason for outcome in alone for reason in outcome.reasons)
        assert together.valid_for_scoring is all(outcome.valid_for_scoring for outcome in alone)
        assert together.successful == sum(outcome.successful for outcome in alone)


@given(jobs)
def test_trust_forgives_only_what_is_absent(job: dict[str, list[AttemptFacts]]) -> None:
    asking, trusting = strict_outcome(of_agents(job)), strict_outcome(of_agents(job), require_verifier_evidence=False)
    assert set(trusting.reasons) <= set(asking.reasons)
    assert all("require_verifier_evidence" in reason for reason in set(asking.reasons) - set(trusting.reasons))
    assert (trusting.status == "errored") is (asking.status == "errored")
    judgement = {"reasons": (), "valid_for_scoring": False, "status": "unverified"}
    assert replace(asking, **judgement) == replace(trusting, **judgement)


cells = st.lists(st.sampled_from([None, 0.0, 0.5, 1.0]), max_size=5)


def cheapest(holds: Callable[[int], bool | None], up_to: int) -> int | None:
    return next((k for k in range(1, up_to + 1) if holds(k)), None)


@given(cells)
def test_a_cell_is_measured_by_what_is_not_null(rewards: list[float | None]) -> None:
    cell = measured_cell(rewards)
    known = [reward for reward in rewards if reward is not None]
    assert (cell.attempts, cell.measured, cell.passed) == (len(rewards), len(known), known.count(1.0))
    assert (cell.passed_at is None) is (cell.passed == 0)
    if cell.passed_at is not None:
        assert rewards[cell.passed_at - 1] == 1.0
        assert 1.0 not in rewards[: cell.passed_at - 1]
    assert cheapest(cell.passes_within, 9) == cell.passed_at


@given(cells, st.integers(0, 5))
def test_unmeasured_attempts_at_the_end_change_no_rate(rewards: list[float | None], more: int) -> None:
    for k in (1, 3):
        assert measured_cell([*rewards, *[None] * more]).passes_within(k) is measured_cell(rewards).passes_within(k)


@given(st.dictionaries(st.text(max_size=2), st.lists(cells, max_size=3), max_size=4))
def test_a_summary_is_the_sum_of_its_tasks(rewards: dict[str, list[list[float | None]]]) -> None:
    tasks = {task: [measured_cell(cell) for cell in of_task] for task, of_task in rewards.items()}
    summary = measured_summary(tasks)
    alone = [measured_summary({task: of_task}) for task, of_task in tasks.items()]
    for name in ("tasks_total", "tasks_any_pass", "attempts_total", "attempts_passed", "n_all_infra"):
        assert getattr(summary, name) == sum(getattr(single, name) for single in alone)
    assert summary.tasks_any_pass + summary.n_all_infra <= summary.tasks_total
    every = measured_group([cell for of_task in tasks.values() for cell in of_task], (1, 5))
    one, five = every.pass_at[1], every.pass_at[5]
    assert (one is None) is (five is None) is (every.n_measured == 0)
    assert one is None or (five is not None and one <= five)
