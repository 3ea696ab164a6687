"""A dataset says where its numbers are not those of ``oddish status``, and each number that differs has a rule."""

from dataclasses import astuple
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.documents import read_object
from oddish.outcome import AttemptFacts, RecordedException
from oddish.viewer.policies import RULES, ComparedCell, Counted, Entry, Rule, Standing, compare, counted
from oddish.viewer.trials import read_result
from support.harbor_jobs import TRIALS, Expected

DOCS = Path(__file__).parents[3] / "docs" / "viewer.md"


def entry(status: Counted, reward: float | None, attempt: int | None = 1, place: int = 0) -> Entry:
    return Entry(f"t-{place}", "task", "model", "agent", status, attempt, reward, place)


def one(*entries: Entry) -> ComparedCell:
    (cell,) = compare(entries)
    return cell


def rules(cell: ComparedCell) -> list[Rule]:
    return [difference.rule for difference in cell.differences]


ERROR = Counted("errored", None, "RuntimeError")
CASES: dict[Rule, tuple[Entry, tuple[object, ...], tuple[object, ...]]] = {
    "errored": (entry(ERROR, 1.0), (1, 0, 0, None, 1, None), (1, 1, 1, 1.0, 0, 1)),
    "cancelled": (entry(Counted("cancelled"), 0.5), (1, 0, 0, None, 0, None), (1, 1, 0, 0.5, 0, None)),
    "not_verified": (entry(Counted("not_verified"), 0.0), (1, 0, 0, None, 0, None), (1, 1, 0, 0.0, 0, None)),
    "unscored": (entry(Counted("skipped"), None), (1, 0, 0, None, 0, None), (1, 0, 0, None, 1, None)),
    "not_ended": (entry(Counted("not_ended"), None, attempt=None), (1, 0, 0, None, 0, None), (0, 0, 0, None, 0, None)),
    "record": (entry(Counted("scored", 1.0), None), (1, 1, 1, 1.0, 0, 1), (1, 0, 0, None, 1, None)),
}
"""Of each rule about a single trial: the numbers of ``oddish status``, and those of the dataset."""


@pytest.mark.parametrize("rule", CASES)
def test_each_rule_names_what_it_makes_of_a_trial(rule: Rule) -> None:
    made, status, dataset = CASES[rule]
    cell = one(made)
    assert (astuple(cell.status), astuple(cell.dataset)) == (status, dataset)
    (difference,) = cell.differences
    assert (difference.rule, difference.trial) == (rule, "t-0")
    assert (difference.status, difference.dataset) == (made.status.reward, made.reward)


def test_trials_that_are_listed_in_another_order_first_pass_at_another_place() -> None:
    passed, failed = Counted("scored", 1.0), Counted("scored", 0.0)
    cell = one(entry(passed, 1.0, attempt=2, place=0), entry(failed, 0.0, attempt=1, place=1))
    assert (cell.status.passed_at, cell.dataset.passed_at) == (1, 2)
    assert [(each.rule, each.trial) for each in cell.differences] == [("order", None)]
    same = one(entry(passed, 1.0, attempt=2, place=0), entry(passed, 1.0, attempt=1, place=1))
    assert same.differences == ()


@pytest.mark.parametrize(
    ("status", "reward", "found"),
    [
        (Counted("scored", 0.25), 0.25, []),
        (ERROR, None, []),
        (Counted("cancelled"), None, ["unscored"]),
        (Counted("not_verified"), None, ["unscored"]),
        (Counted("ambiguous"), None, ["unscored"]),
        (Counted("ambiguous"), 1.0, ["record"]),
        (Counted("skipped"), 1.0, ["record"]),
        (Counted("scored", 1.0), 0.0, ["record"]),
    ],
)
def test_what_is_the_same_under_both_is_no_difference(status: Counted, reward: float | None, found: list[Rule]) -> None:
    assert rules(one(entry(status, reward))) == found


def test_every_rule_has_a_case_and_a_row_in_the_documentation() -> None:
    assert set(RULES) == set(get_args(Rule.__value__)) == {*CASES, "order"}
    documented = DOCS.read_text(encoding="utf-8")
    assert [rule for rule in RULES if f"| `{rule}` |" not in documented] == []


def test_cells_are_compared_apart_and_in_order() -> None:
    scored = Counted("scored", 1.0)
    found = compare(
        Entry("t", task, "m", agent, scored, 1, 1.0) for task, agent in [("b", "x"), ("a", "y"), ("a", "x")]
    )
    assert [(cell.task, cell.harness) for cell in found] == [("a", "x"), ("a", "y"), ("b", "x")]


@st.composite
def cells(draw: st.DrawFn) -> list[Entry]:
    rewards = st.sampled_from([None, 0.0, 0.5, 1.0])
    standings = draw(st.lists(st.sampled_from(get_args(Standing.__value__)), min_size=1, max_size=6))
    numbers = draw(st.permutations(range(1, len(standings) + 1)))
    made = []
    for place, (standing, number) in enumerate(zip(standings, numbers, strict=True)):
        counts = Counted(
            standing, draw(rewards.filter(lambda reward: reward is not None)) if standing == "scored" else None
        )
        reward = draw(rewards if standing != "scored" else st.sampled_from([counts.reward, None, 0.25]))
        there = standing != "not_ended"
        made.append(entry(counts, reward if there else None, number if there else None, place))
    return made


@given(cells())
def test_no_number_differs_without_a_rule(entries: list[Entry]) -> None:
    cell = one(*entries)
    if not cell.differences:
        assert cell.status == cell.dataset


@pytest.mark.parametrize("trial", [trial for trial in TRIALS if trial.has_result], ids=lambda trial: trial.trial)
def test_a_record_counts_as_it_would_after_an_import(trial: Expected) -> None:
    document, _ = read_object(trial.directory, "result.json", 2**20)
    found = counted(read_result(document).facts)
    expected: Standing = "scored" if trial.verdict.status == "success" else "errored"
    if trial.verdict.status == "cancelled":
        expected = "cancelled"
    if "verification_disabled" in trial.verdict.reasons:
        expected = "not_verified"
    assert found.standing == expected
    assert found.reward == (trial.reward if expected == "scored" else None)
    assert found.reason == next(iter(trial.verdict.reasons), None)


def test_facts_without_a_primary_reward_are_ambiguous() -> None:
    assert counted(AttemptFacts("done", rewards={"a": 1.0, "b": 0.0})) == Counted("ambiguous", None, "ambiguous")
    raised = RecordedException("AgentTimeoutError", "", None)
    assert counted(AttemptFacts("done", rewards={"reward": 1.0}, exceptions=(raised,))) == Counted("scored", 1.0)
