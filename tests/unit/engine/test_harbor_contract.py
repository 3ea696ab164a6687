"""Files that Harbor's own models write read here as there, and what a future or broken writer leaves does no harm."""

import codecs
import json
import math
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from harbor.models.agent.context import AgentContext
from harbor.models.job.result import JobResult, JobStats
from harbor.models.task.id import LocalTaskId
from harbor.models.trial.config import TaskConfig, TrialConfig, VerifierConfig
from harbor.models.trial.error_policy import ERROR_POLICIES, ErrorPolicyOverride
from harbor.models.trial.result import (
    AgentInfo,
    ExceptionInfo,
    ModelInfo,
    StepResult,
    TimingInfo,
    TrialResult,
)
from harbor.models.verifier.result import VerifierResult
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish import documents
from oddish.documents import moment
from oddish.engine.jobs import read_job
from oddish.engine.results import PHASES, Timing, TrialFacts, attempt_facts, read_trial
from oddish.outcome import VALID_REWARD, judge
from support.harbor_documents import costs, in_a_directory, names, times, tokens, with_members, words, written

finite = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53)
verifier_results = st.none() | st.builds(
    VerifierResult, rewards=st.none() | st.dictionaries(names | st.just("reward"), finite, max_size=3)
)
overrides = st.none() | st.builds(ErrorPolicyOverride, has_valid_reward=st.none() | st.booleans())
exception_infos = st.none() | st.builds(
    ExceptionInfo,
    exception_type=st.sampled_from([*sorted(ERROR_POLICIES), "SurprisingError"]),
    exception_message=words,
    exception_traceback=words,
    occurred_at=times,
    policy_override=overrides,
)
contexts = st.none() | st.builds(
    AgentContext,
    n_input_tokens=tokens,
    n_cache_tokens=tokens,
    n_output_tokens=tokens,
    cost_usd=costs,
    metadata=st.none() | st.dictionaries(names, words, max_size=2),
)
timings = st.none() | st.builds(TimingInfo, started_at=times, finished_at=st.none() | times)
step_results = st.builds(
    StepResult,
    step_name=names,
    agent_result=contexts,
    verifier_result=verifier_results,
    exception_info=exception_infos,
    agent_execution=timings,
    verifier=timings,
)
trial_results = st.builds(
    TrialResult,
    task_name=names,
    trial_name=names,
    trial_uri=st.just("file:///t"),
    task_id=st.just(LocalTaskId(path=Path("/t"))),
    task_checksum=words,
    config=st.builds(
        TrialConfig,
        task=st.just(TaskConfig(path=Path("/t"))),
        verifier=st.builds(VerifierConfig, disable=st.booleans()),
        install_only=st.booleans(),
    ),
    agent_info=st.builds(
        AgentInfo,
        name=names,
        version=words,
        model_info=st.none() | st.builds(ModelInfo, name=names, provider=st.none() | names),
    ),
    agent_result=contexts,
    verifier_result=verifier_results,
    exception_info=exception_infos,
    started_at=st.none() | times,
    finished_at=st.none() | times,
    environment_setup=timings,
    agent_setup=timings,
    agent_execution=timings,
    verifier=timings,
    step_results=st.none() | st.lists(step_results, max_size=3),
)


def last_begun(result: TrialResult | StepResult, occurred: datetime) -> str | None:
    begun = [name for name in PHASES if (phase := getattr(result, name, None)) and phase.started_at <= occurred]
    return begun[-1] if begun else None


@in_a_directory
@given(trial_results)
def test_a_trial_reads_as_harbor_wrote_it(tmp_path: Path, result: TrialResult) -> None:
    facts = read_trial(written(tmp_path, result.model_dump_json(indent=4)))
    recorded = result.recorded_exceptions()
    assert facts.problem is None
    assert facts.rewards == ((result.verifier_result and result.verifier_result.rewards) or None)
    assert facts.reward_valid is result.reward_valid
    assert [(item.type, item.message) for item in facts.exceptions] == [
        (item.exception_type, item.exception_message) for item in recorded
    ]
    assert [item.has_valid_reward for item in facts.exceptions] == [item.policy.has_valid_reward for item in recorded]
    assert [moment(item.occurred_at) for item in facts.exceptions] == [
        item.occurred_at.timestamp() for item in recorded
    ]
    if result.exception_info:
        assert facts.exceptions[0].phase == last_begun(result, result.exception_info.occurred_at)
    totals = result.compute_token_cost_totals()
    found = (facts.usage.input_tokens, facts.usage.cache_tokens, facts.usage.output_tokens, facts.usage.cost_usd)
    assert found == pytest.approx(totals)
    assert (facts.task_name, facts.agent) == (result.task_name, result.agent_info.name)
    model = result.agent_info.model_info
    assert facts.model == (model and (f"{model.provider}/{model.name}" if model.provider else model.name))
    assert facts.verifier_disabled is (result.config.verifier.disable or result.config.install_only)
    for name in PHASES:
        compare_times(getattr(result, name), facts.timing.get(name))
    assert [step.name for step in facts.steps] == [step.step_name for step in result.step_results or []]
    for ours, theirs in zip(facts.steps, result.step_results or [], strict=True):
        assert ours.rewards == ((theirs.verifier_result and theirs.verifier_result.rewards) or None)
        assert (ours.exception is None) is (theirs.exception_info is None)
        if ours.exception and theirs.exception_info:
            assert ours.exception.phase == last_begun(theirs, theirs.exception_info.occurred_at)
        compare_times(theirs.agent_execution, ours.timing.get("agent_execution"))


def compare_times(theirs: TimingInfo | None, ours: Timing | None) -> None:
    assert (ours is None) is (theirs is None)
    if ours and theirs:
        for name in ("started_at", "finished_at"):
            at = getattr(theirs, name)
            assert moment(getattr(ours, name)) == (at and at.timestamp())


@in_a_directory
@given(trial_results)
def test_our_verdict_differs_from_harbors_only_as_written_down(tmp_path: Path, result: TrialResult) -> None:
    facts = attempt_facts(read_trial(written(tmp_path, result.model_dump_json())), None, "done")
    outcome = judge(facts)
    unknown = any(item.type not in ERROR_POLICIES for item in facts.exceptions)
    cancelled = any(item.type == "CancelledError" for item in facts.exceptions)
    if not unknown and not cancelled:
        assert outcome.reward_valid is result.reward_valid
    assert outcome.overridden is (result.reward_valid and not outcome.reward_valid)
    assert outcome.reward_valid <= result.reward_valid


def test_the_ends_that_keep_a_reward_are_harbors() -> None:
    assert {name for name, policy in ERROR_POLICIES.items() if policy.has_valid_reward} == VALID_REWARD


@in_a_directory
@given(trial_results, names, st.integers(0, 20))
def test_a_later_or_sparser_record_reads_the_same(
    tmp_path: Path, result: TrialResult, unheard: str, place: int
) -> None:
    facts = read_trial(written(tmp_path, result.model_dump_json()))
    later = with_members(json.loads(result.model_dump_json()), "x-" + unheard)
    assert read_trial(written(tmp_path, json.dumps(later))) == facts
    sparse = result.model_dump_json(exclude_none=True)
    assert read_trial(written(tmp_path, sparse)) == facts
    document = json.loads(sparse)
    document.pop(list(document)[place % len(document)])
    assert read_trial(written(tmp_path, json.dumps(document))).problem is None


WRONG = (None, True, -1, 1.5, 10**400, 2**63, "text", "\ud800", [], [[]], {}, {"a": {}}, math.nan, -math.inf)


@settings(in_a_directory, max_examples=300)
@given(trial_results, st.data())
def test_one_member_of_a_wrong_type_harms_nothing_else(
    tmp_path: Path, result: TrialResult, data: st.DataObject
) -> None:
    document = json.loads(result.model_dump_json())
    parent = data.draw(st.sampled_from(list(objects(document))))
    member = data.draw(st.sampled_from(sorted(parent)))
    for wrong in WRONG:
        parent[member] = wrong
        facts = read_trial(written(tmp_path, json.dumps(document)))
        assert facts.problem is None
        assert all(math.isfinite(reward) for reward in (facts.rewards or {}).values())
        counts = [facts.usage.input_tokens, facts.usage.cache_tokens, facts.usage.output_tokens]
        assert all(count is None or 0 <= count < 2**63 for count in counts)
        judge(attempt_facts(facts, None, "done"))


def objects(document: Any) -> Any:
    if isinstance(document, dict) and document:
        yield document
    for item in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        yield from objects(item)


REWARDED = '{"verifier_result": {"rewards": {"reward": 0.5}}, "task_name": "t\u00fc"}'


@pytest.mark.parametrize(
    "content",
    [
        *(REWARDED.encode(), codecs.BOM_UTF8 + REWARDED.encode(), REWARDED.encode("utf-16")),
        *(REWARDED.encode("utf-16-be"), REWARDED.encode("utf-32-le"), b"\n\t " + REWARDED.encode()),
    ],
)
def test_any_unicode_encoding_of_json_is_read(tmp_path: Path, content: bytes) -> None:
    facts = read_trial(written(tmp_path, content))
    assert (facts.rewards, facts.task_name) == ({"reward": 0.5}, "tü")


@pytest.mark.parametrize(
    "content",
    [
        *(REWARDED.encode("latin-1"), REWARDED.encode() + b"\0", REWARDED.encode() * 2, REWARDED.encode()[:-1]),
        *(b"\xef\xbb", b"\xff\xfe\x00", b"{'a': 1}", b'{"a": 01}', b'{"a": 1,}', b"NaN", b"-", b'"\xed\xa0\x80"'),
    ],
)
def test_what_is_not_json_is_named(tmp_path: Path, content: bytes) -> None:
    assert read_trial(written(tmp_path, content)) == TrialFacts(problem="malformed")


def test_of_two_members_of_one_name_the_last_counts_as_in_harbor(tmp_path: Path) -> None:
    content = (
        '{"verifier_result": {"rewards": {"reward": 0, "reward": 1}}, "verifier_result": {"rewards": {"reward": %s}}}'
    )
    assert read_trial(written(tmp_path, content % "0.25")).rewards == {"reward": 0.25}
    assert VerifierResult.model_validate_json('{"rewards": {"reward": 0, "reward": 1}}').rewards == {"reward": 1}


@pytest.mark.parametrize("unit", [b"{},", b"[],", b"0,"])
def test_a_document_too_dense_to_hold_in_memory_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: bytes
) -> None:
    monkeypatch.setattr(documents, "MAX_CONTAINERS", 50)
    monkeypatch.setattr(documents, "MAX_MEMBERS", 50)
    within, beyond = (b'{"steps": [%s0]}' % (unit * count) for count in (40, 60))
    assert read_trial(written(tmp_path, within)).problem is None
    assert read_trial(written(tmp_path, beyond)).problem == "too_large"


def test_sums_that_no_column_holds_are_left_out(tmp_path: Path) -> None:
    steps = [{"agent_result": {"n_input_tokens": 2**62, "cost_usd": 1e308, "n_output_tokens": 7}}] * 2
    usage = read_trial(written(tmp_path, json.dumps({"step_results": steps}))).usage
    assert (usage.input_tokens, usage.cost_usd, usage.output_tokens) == (None, None, 14)


job_results = st.builds(
    lambda results, planned, begun, ended: JobResult(
        id="66aef944-5fce-49ef-a2e2-f54da30d263f",
        started_at=begun,
        finished_at=ended,
        n_total_trials=planned,
        stats=JobStats.from_trial_results(results, n_total_trials=planned, n_running_trials=1, n_retries=2),
    ),
    st.lists(trial_results, max_size=3),
    st.integers(0, 9),
    times,
    st.none() | times,
)


@in_a_directory
@given(job_results)
def test_a_job_reads_as_harbor_wrote_it(tmp_path: Path, result: JobResult) -> None:
    facts = read_job(written(tmp_path, result.model_dump_json(indent=4)))
    stats = result.stats
    assert (facts.problem, facts.planned) == (None, result.n_total_trials)
    assert (moment(facts.started_at), moment(facts.finished_at)) == (
        result.started_at.timestamp(),
        result.finished_at and result.finished_at.timestamp(),
    )
    assert facts.counts == {
        "completed": stats.n_completed_trials,
        "errored": stats.n_errored_trials,
        "running": stats.n_running_trials,
        "pending": stats.n_pending_trials,
        "cancelled": stats.n_cancelled_trials,
        "retries": stats.n_retries,
    }
    usage = facts.usage
    assert (usage.input_tokens, usage.cache_tokens, usage.output_tokens) == (
        *(stats.n_input_tokens, stats.n_cache_tokens, stats.n_output_tokens),
    )
    assert usage.cost_usd == pytest.approx(stats.cost_usd)
    assert set(facts.evals) == set(stats.evals)
    for key, figures in facts.evals.items():
        theirs = stats.evals[key]
        assert (figures.valid, figures.errored) == (theirs.n_trials, theirs.n_errors)
        assert figures.exceptions == {name: tuple(trials) for name, trials in theirs.exception_stats.items()}
        assert {name: Counter(sum(values.values(), ())) for name, values in figures.rewards.items()} == {
            name: Counter(trial for trials in values.values() for trial in trials)
            for name, values in theirs.reward_stats.items()
        }


def test_a_job_of_an_older_harbor_reads_the_same(tmp_path: Path) -> None:
    older = {"n_total_trials": 5, "stats": {"n_trials": 4, "n_errors": 1}}
    assert JobStats.model_validate(older["stats"]).n_completed_trials == 4
    assert read_job(written(tmp_path, json.dumps(older))).counts == {"completed": 4, "errored": 1}


job_members = st.sampled_from(
    [
        "stats",
        "evals",
        "metrics",
        "pass_at_k",
        "reward_stats",
        "exception_stats",
        "n_trials",
        "n_total_trials",
        "2",
        "x",
    ]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(job_members, inner, max_size=4),
    max_leaves=12,
)


@in_a_directory
@given(st.dictionaries(job_members, json_values, max_size=5) | json_values)
def test_any_job_record_can_be_read(tmp_path: Path, document: object) -> None:
    facts = read_job(written(tmp_path, json.dumps(document)))
    assert (facts.problem is None) is isinstance(document, dict)


def test_trials_behind_links_do_not_belong_to_the_job(tmp_path: Path) -> None:
    job = tmp_path / "job"
    written(job, "{}", "good/config.json")
    written(tmp_path / "outside", "{}", "config.json")
    (job / "linked").symlink_to(tmp_path / "outside")
    (job / "behind").mkdir()
    (job / "behind" / "config.json").symlink_to(tmp_path / "outside" / "config.json")
    (job / "empty").mkdir()
    assert read_job(job).trials == ("good",)
