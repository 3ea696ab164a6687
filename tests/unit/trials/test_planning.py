"""The shortfall of a submission, for any trials there may be."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from oddish.trials.planning import COUNTING, Addition, Live, Wanted, plan

UNITS = [b"a", b"b"]
ENVIRONMENTS = ["local", "docker"]
STATUSES = ["queued", "running", "retrying", "success", "failed", "skipped"]

wanted_lists = st.lists(
    st.builds(Wanted, st.sampled_from(UNITS), st.sampled_from([*ENVIRONMENTS, None]), st.integers(1, 5)), max_size=4
)
live_lists = st.lists(
    st.tuples(st.sampled_from(UNITS), st.sampled_from(ENVIRONMENTS), st.sampled_from(STATUSES)), max_size=12
).map(lambda rows: [Live(f"t-{index}", *row) for index, row in enumerate(rows)])


def after(wanted: list[Wanted], live: list[Live], additions: list[Addition]) -> list[Live]:
    replaced = {addition.replaces for addition in additions}
    created = [
        Live(
            f"new-{index}", wanted[addition.wanted].unit_hash, wanted[addition.wanted].environment or "local", "queued"
        )
        for index, addition in enumerate(additions)
    ]
    return [trial for trial in live if trial.id not in replaced] + created


@given(wanted_lists, live_lists)
def test_submitting_again_adds_nothing(wanted: list[Wanted], live: list[Live]) -> None:
    once = after(wanted, live, plan(wanted, live))
    assert plan(wanted, once) == []


@given(wanted_lists, live_lists)
def test_only_failed_trials_are_replaced_each_once_by_their_own_unit(wanted: list[Wanted], live: list[Live]) -> None:
    by_id = {trial.id: trial for trial in live}
    replaced = [(addition.wanted, addition.replaces) for addition in plan(wanted, live) if addition.replaces]
    assert all(count == 1 for count in Counter(old for _, old in replaced).values())
    for index, old in replaced:
        assert by_id[old].status not in COUNTING
        assert by_id[old].unit_hash == wanted[index].unit_hash


@given(wanted_lists, live_lists)
def test_never_more_than_asked_for_and_never_fewer_than_declared(wanted: list[Wanted], live: list[Live]) -> None:
    additions = plan(wanted, live)
    added = Counter(addition.wanted for addition in additions)
    assert all(added[index] <= entry.count for index, entry in enumerate(wanted))
    counting = Counter(trial.unit_hash for trial in after(wanted, live, additions) if trial.status in COUNTING)
    declared: Counter[bytes] = Counter()
    for entry in wanted:
        declared[entry.unit_hash] += entry.count
    assert all(counting[unit] >= count for unit, count in declared.items())


def test_the_oldest_failure_is_replaced_first() -> None:
    live = [Live("t-0", b"a", "local", "failed"), Live("t-1", b"a", "docker", "failed")]
    assert plan([Wanted(b"a", "docker", 1)], live) == [Addition(0, "t-0")]


def test_a_named_environment_does_not_count_others() -> None:
    live = [Live("t-0", b"a", "local", "success")]
    assert plan([Wanted(b"a", "docker", 1)], live) == [Addition(0, None)]
    assert plan([Wanted(b"a", None, 1)], live) == []


def test_two_entries_of_one_unit_add_up() -> None:
    live = [Live(f"t-{index}", b"a", "local", "queued") for index in range(3)]
    assert len(plan([Wanted(b"a", None, 2), Wanted(b"a", "local", 3)], live)) == 2
