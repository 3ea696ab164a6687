"""The statistics: their laws, their edges, and what they refuse."""

import itertools
import math
import time
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.stats import (
    LARGEST,
    Attempts,
    Estimate,
    Interval,
    bootstrap_interval,
    clustered_error,
    clustered_interval,
    detectable_difference,
    mean_of_tasks,
    mean_pass_at_k,
    mean_pass_hat_k,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    student_quantile,
    wilson,
)

attempts = st.integers(0, 40).flatmap(lambda valid: st.builds(Attempts, st.just(valid), st.integers(0, valid)))
some_attempts = attempts.filter(lambda of: of.valid > 0)
rewards = st.lists(st.floats(-1e6, 1e6), max_size=6)
any_rewards = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=4)
models = st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.sampled_from([0, 0.25, 1 / 3, 1]), max_size=4))


@given(some_attempts.filter(lambda of: of.valid <= 8), st.integers(1, 8))
def test_both_count_the_draws_they_are_named_for(of: Attempts, k: int) -> None:
    draws = list(itertools.combinations([True] * of.passed + [False] * (of.valid - of.passed), k))
    if not draws:
        assert pass_at_k(of, k) is pass_hat_k(of, k) is None
    else:
        assert pass_at_k(of, k) == sum(map(any, draws)) / len(draws)
        assert pass_hat_k(of, k) == sum(map(all, draws)) / len(draws)


@given(some_attempts)
def test_one_draw_passes_at_the_rate(of: Attempts) -> None:
    assert pass_at_k(of, 1) == pass_hat_k(of, 1) == of.passed / of.valid


@given(some_attempts)
def test_more_draws_find_more_passes_and_fewer_clean_runs(of: Attempts) -> None:
    at = [pass_at_k(of, k) for k in range(1, of.valid + 1)]
    hat = [pass_hat_k(of, k) for k in range(1, of.valid + 1)]
    assert at == sorted(at)
    assert hat == sorted(hat, reverse=True)
    assert (at[-1], hat[-1]) == (float(of.passed > 0), float(of.passed == of.valid))


@given(some_attempts, st.integers(1, 40))
def test_all_pass_unless_one_fails(of: Attempts, k: int) -> None:
    failed = Attempts(of.valid, of.valid - of.passed)
    if k <= of.valid:
        assert pass_hat_k(of, k) == pytest.approx(1 - pass_at_k(failed, k))


@given(attempts, st.integers(1, 5))
def test_too_few_attempts_say_nothing(of: Attempts, more: int) -> None:
    assert pass_at_k(of, of.valid + more) is pass_hat_k(of, of.valid + more) is None


def test_thousands_of_attempts_stay_exact() -> None:
    assert pass_at_k(Attempts(10_000, 1), 5_000) == 0.5
    assert pass_hat_k(Attempts(10_000, 9_999), 5_000) == 0.5


@pytest.mark.parametrize(
    ("valid", "passed", "k"),
    [(20_000, 3_000, 1_500), (20_000, 17_000, 2_900), (9_000, 1_100, 7_000), (5_000, 2_500, 2_400), (4_000, 3_999, 1)],
)
def test_draws_of_thousands_are_as_exact_as_whole_numbers(valid: int, passed: int, k: int) -> None:
    failed, ways = math.comb(valid - passed, k), math.comb(valid, k)
    of = Attempts(valid, passed)
    assert pass_at_k(of, k) == pytest.approx(float(1 - Fraction(failed, ways)), rel=1e-12)
    assert pass_hat_k(of, k) == pytest.approx(float(Fraction(math.comb(passed, k), ways)), rel=1e-12)


MILLIONS = [(10**6, 1_200, 2_000), (10**6, 500_000, 500_000), (10**6, 973_000, 27_000), (LARGEST, LARGEST - 9, 10**6)]


@pytest.mark.parametrize(("valid", "passed", "k"), MILLIONS)
def test_a_million_attempts_take_no_time(valid: int, passed: int, k: int) -> None:
    of, failed = Attempts(valid, passed), Attempts(valid, valid - passed)
    started = time.process_time()
    assert pass_hat_k(failed, k) == pytest.approx(1 - pass_at_k(of, k), abs=1e-12)
    assert time.process_time() - started < 0.5


def test_more_than_can_be_meant_is_refused() -> None:
    with pytest.raises(ValueError, match=f"valid={LARGEST + 1} is above {LARGEST}"):
        Attempts(LARGEST + 1, 0)
    with pytest.raises(ValueError, match=f"freedom={LARGEST + 1} is above {LARGEST}"):
        student_quantile(LARGEST + 1)


@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.95, 0.9999])
def test_quantiles_fall_with_every_degree_of_freedom_to_that_of_the_normal(confidence: float) -> None:
    freedoms = [*range(990, 1_010), 10_000, LARGEST]
    quantiles = [student_quantile(freedom, confidence) for freedom in freedoms]
    assert quantiles == sorted(quantiles, reverse=True)
    assert quantiles[-1] == pytest.approx(NormalDist().inv_cdf((1 + confidence) / 2), rel=1e-6)


@pytest.mark.parametrize(("valid", "passed"), [(1, 2), (1, -1), (-1, -1), (-1, 0)])
def test_impossible_counts_are_refused(valid: int, passed: int) -> None:
    with pytest.raises(ValueError, match=f"passed={passed} .* valid={valid}"):
        Attempts(valid, passed)


@pytest.mark.parametrize("measure", [pass_at_k, pass_hat_k])
def test_k_is_at_least_one(measure) -> None:
    with pytest.raises(ValueError, match="k=0 is below 1"):
        measure(Attempts(3, 1), 0)


def test_only_tasks_with_enough_attempts_count() -> None:
    tasks = [Attempts(4, 1), Attempts(2, 2), Attempts(1, 1), Attempts(0, 0)]
    at, hat = mean_pass_at_k(tasks, 2), mean_pass_hat_k(tasks, 2)
    assert (at.mean, at.tasks, at.left_out) == (0.75, 2, 2)
    assert (hat.mean, hat.tasks, hat.left_out) == (0.5, 2, 2)
    assert mean_pass_at_k(tasks, 5) == Estimate(None, None, None, 0, 4)


def test_no_task_and_one_task_have_no_interval() -> None:
    assert mean_of_tasks([]) == Estimate(None, None, None, 0, 0)
    assert mean_of_tasks([[], []]) == Estimate(None, None, None, 0, 2)
    assert mean_of_tasks([[0, 1, 1, 1], []]) == Estimate(0.75, None, None, 1, 1)


def test_tasks_that_agree_have_no_width() -> None:
    estimate = mean_of_tasks([[0.1], [0.1, 0.1], [0.1, 0.1, 0.1]])
    assert estimate == Estimate(0.1, 0.0, Interval(0.1, 0.1), 3, 0)


def test_each_task_counts_once() -> None:
    assert mean_of_tasks([[1.0] * 9, [0.0]]).mean == 0.5


@given(st.lists(rewards, max_size=8))
def test_the_interval_lies_around_the_mean(tasks: list[list[float]]) -> None:
    estimate = mean_of_tasks(tasks)
    narrow, wide = mean_of_tasks(tasks, confidence=0.5), mean_of_tasks(tasks, confidence=0.99)
    assert estimate.tasks + estimate.left_out == len(tasks)
    assert (estimate.interval is None) is (estimate.error is None) is (estimate.tasks < 2)
    if estimate.interval:
        assert wide.interval.low <= narrow.interval.low <= estimate.mean <= narrow.interval.high <= wide.interval.high


@given(st.lists(any_rewards, max_size=6), st.floats(0.01, 0.999))
def test_the_bootstrap_stays_within_the_tasks_in_any_order(tasks: list[list[float]], confidence: float) -> None:
    interval = bootstrap_interval(tasks, confidence=confidence, resamples=50)
    assert interval == bootstrap_interval(tasks[::-1], confidence=confidence, resamples=50)
    means = [mean_of_tasks([values]).mean for values in tasks if values]
    if interval is None:
        assert len(means) < 2 or math.isinf(len(means) * max(map(abs, means)))
    else:
        assert min(means) <= interval.low <= interval.high <= max(means)


def test_the_bootstrap_of_two_tasks_draws_both_or_either() -> None:
    assert bootstrap_interval([[0.2], [0.6, 1.0]]) == Interval(0.2, 0.8)
    assert bootstrap_interval([[0.2], [0.8]], confidence=0.4) == Interval(0.5, 0.5)
    assert bootstrap_interval([[0.1], [0.1], [0.1]]) == Interval(0.1, 0.1)
    assert bootstrap_interval([]) is bootstrap_interval([[0.5], []]) is None
    with pytest.raises(ValueError, match="resamples=0 is below 1"):
        bootstrap_interval([[0], [1]], resamples=0)


@given(st.permutations([[0.1, 0.7], [1 / 3], [0.2, 0.2, 0.9], [1e9]]))
def test_the_order_of_tasks_changes_nothing(tasks: list[list[float]]) -> None:
    assert mean_of_tasks(tasks) == mean_of_tasks([[0.1, 0.7], [1 / 3], [0.2, 0.2, 0.9], [1e9]])
    assert clustered_error(tasks) == clustered_error(reversed(tasks))


@given(st.integers(1, 4).flatmap(lambda size: st.lists(st.lists(st.floats(-9, 9), min_size=size, max_size=size))))
def test_clusters_of_one_size_have_the_error_of_their_means(clusters: list[list[float]]) -> None:
    assert clustered_error(clusters) == pytest.approx(mean_of_tasks(clusters).error)


@given(st.lists(st.integers(0, 1), min_size=2, max_size=20), st.integers(2, 5))
def test_repeating_what_a_cluster_holds_adds_no_certainty(values: list[int], times: int) -> None:
    assert clustered_error([[value] * times for value in values]) == clustered_error([[value] for value in values])


def test_fewer_than_two_clusters_have_no_error() -> None:
    assert clustered_error([]) is clustered_error([[1, 0], []]) is None
    assert clustered_interval([]) is clustered_interval([[1, 0], []]) is None


@given(st.integers(1, 4).flatmap(lambda size: st.lists(st.lists(st.floats(-9, 9), min_size=size, max_size=size))))
def test_clusters_of_one_size_have_the_interval_of_their_means(clusters: list[list[float]]) -> None:
    expected, found = mean_of_tasks(clusters).interval, clustered_interval(clusters)
    assert (expected is None) == (found is None)
    if expected is not None and found is not None:
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_larger_clusters_weigh_more_in_their_interval() -> None:
    found = clustered_interval([[1.0] * 9, [0.0]])
    assert found is not None
    assert (found.low + found.high) / 2 == pytest.approx(0.9)


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=9), st.integers(2, 5))
def test_a_difference_is_found_the_sooner_the_smaller_its_error(values: list[float], times: int) -> None:
    few, many = (mean_of_tasks([[value] for value in values * repeats]) for repeats in (1, times))
    once, often = detectable_difference(few), detectable_difference(many)
    assert (once is None) == (not few.error)
    if once is not None and often is not None:
        assert often < once
        assert once == pytest.approx(2.8016 * few.error, rel=1e-4)  # type: ignore[operator]


@given(st.lists(any_rewards, max_size=6), st.lists(any_rewards, max_size=6))
def test_any_finite_reward_is_computed_with(first: list[list[float]], second: list[list[float]]) -> None:
    clustered_error(first)
    estimate = mean_of_tasks(first)
    numbers = [estimate.mean, estimate.error, *([estimate.interval.low] if estimate.interval else [])]
    assert all(number is None or math.isfinite(number) for number in numbers)
    paired_difference(dict(enumerate(first)), dict(enumerate(second)))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(value: float) -> None:
    for refused in (
        lambda: mean_of_tasks([[0], [value]]),
        lambda: clustered_error([[0], [value]]),
        lambda: clustered_interval([[0], [value]]),
        lambda: bootstrap_interval([[0], [value]]),
        lambda: paired_difference({"a": [0]}, {"a": [value]}),
    ):
        with pytest.raises(ValueError, match="is not finite"):
            refused()


@pytest.mark.parametrize("confidence", [-1, 0, 0.99999, 1, 95, math.nan])
def test_a_wrong_confidence_is_refused(confidence: float) -> None:
    for refused in (
        lambda: mean_of_tasks([], confidence=confidence),
        lambda: bootstrap_interval([], confidence=confidence),
        lambda: mean_pass_at_k([], 1, confidence=confidence),
        lambda: wilson(Attempts(0, 0), confidence=confidence),
        lambda: clustered_interval([], confidence=confidence),
        lambda: paired_difference({}, {}, confidence=confidence),
        lambda: student_quantile(3, confidence),
    ):
        with pytest.raises(ValueError, match=f"confidence={confidence}"):
            refused()


@given(some_attempts, st.floats(0.01, 0.999))
def test_wilson_holds_the_rate_within_zero_and_one(of: Attempts, confidence: float) -> None:
    interval = wilson(of, confidence=confidence)
    assert 0 <= interval.low <= of.passed / of.valid <= interval.high <= 1
    mirrored = wilson(Attempts(of.valid, of.valid - of.passed), confidence=confidence)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - interval.high, 1 - interval.low))


def test_wilson_at_its_ends() -> None:
    assert wilson(Attempts(0, 0)) is None
    assert (wilson(Attempts(10, 0)).low, wilson(Attempts(10, 10)).high) == (0, 1)
    assert wilson(Attempts(10, 0)).high == pytest.approx(0.2775328)


@given(models, models)
def test_a_comparison_turned_around_changes_its_sign(first, second) -> None:
    one, other = paired_difference(first, second), paired_difference(second, first)
    assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
    assert one.wins + one.ties + one.losses == one.difference.tasks == other.difference.tasks
    assert one.difference.left_out == other.difference.left_out
    assert one.difference.error == other.difference.error
    if one.difference.mean is not None:
        assert one.difference.mean == -other.difference.mean


@given(models)
def test_a_model_ties_with_itself(model) -> None:
    paired = paired_difference(model, model)
    assert (paired.wins, paired.losses) == (0, 0)
    assert paired.difference.mean == (0 if paired.ties else None)


def test_only_common_tasks_are_compared() -> None:
    paired = paired_difference(
        {"a": [1, 1], "b": [0, 1], "c": [1], "d": [], "only": [1]}, {"a": [0], "b": [0.5], "c": [1, 1, 0], "d": [1]}
    )
    assert (paired.wins, paired.ties, paired.losses) == (2, 1, 0)
    assert (paired.difference.tasks, paired.difference.left_out) == (3, 2)
    assert paired.difference.mean == pytest.approx(4 / 9)


def test_equal_means_tie_however_they_came_about() -> None:
    paired = paired_difference({"a": [0.1, 0.1, 0.1], "b": [1, 0, 0]}, {"a": [0.1], "b": [0, 0, 1, 0, 1, 0]})
    assert paired.ties == 2


def test_one_common_task_has_a_difference_and_no_interval() -> None:
    assert paired_difference({"a": [1]}, {"a": [0, 1]}).difference == Estimate(0.5, None, None, 1, 0)
    assert paired_difference({"a": [1]}, {"b": [1]}).difference == Estimate(None, None, None, 0, 2)


def test_fewer_than_one_degree_of_freedom_is_refused() -> None:
    with pytest.raises(ValueError, match="freedom=0 is below 1"):
        student_quantile(0)
