"""The statistics against SciPy, on a thousand random matrices of tasks by attempts."""

import math
import random
from collections.abc import Iterator
from itertools import chain

import pytest
from scipy import stats as scipy_stats

from oddish.stats import (
    Attempts,
    clustered_error,
    mean_of_tasks,
    mean_pass_at_k,
    mean_pass_hat_k,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    student_quantile,
    wilson,
)

MATRICES = 1_000
exactly = {"rel": 1e-9, "abs": 1e-12}

type Matrix = list[list[float]]


def matrices() -> Iterator[tuple[random.Random, Matrix]]:
    """Ragged: a task has lost some attempts as invalid, but not all."""
    rng = random.Random(20_260_701)
    for number in range(MATRICES):
        attempts, ability = rng.randint(1, 12), [rng.random() for _ in range(rng.randint(2, 30))]
        draw = (lambda p: float(rng.random() < p)) if number % 2 else (lambda p: rng.uniform(0, p))
        yield rng, [[draw(p) for _ in range(rng.randint(1, attempts))] for p in ability]


def average(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def counted(row: list[float]) -> Attempts:
    return Attempts(len(row), sum(value >= 0.5 for value in row))


def test_passes_at_k() -> None:
    for rng, matrix in matrices():
        tasks, k = [counted(row) for row in matrix], rng.randint(1, 6)
        enough = [of for of in tasks if of.valid >= k]
        valid, passed = [of.valid for of in enough], [of.passed for of in enough]
        at, hat = scipy_stats.hypergeom.sf(0, valid, passed, k), scipy_stats.hypergeom.pmf(k, valid, passed, k)
        assert [pass_at_k(of, k) for of in enough] == pytest.approx(list(at), **exactly)
        assert [pass_hat_k(of, k) for of in enough] == pytest.approx(list(hat), **exactly)
        for estimate, values in ((mean_pass_at_k(tasks, k), at), (mean_pass_hat_k(tasks, k), hat)):
            assert (estimate.tasks, estimate.left_out) == (len(enough), len(tasks) - len(enough))
            if len(enough) >= 2:
                assert estimate.mean == pytest.approx(values.mean(), **exactly)
                assert estimate.error == pytest.approx(scipy_stats.sem(values), **exactly)


def test_wilson_intervals() -> None:
    for rng, matrix in matrices():
        confidence = rng.choice([0.5, 0.9, 0.95, 0.99])
        for of in map(counted, matrix[:3]):
            expected = scipy_stats.binomtest(of.passed, of.valid).proportion_ci(confidence, method="wilson")
            interval = wilson(of, confidence=confidence)
            assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), **exactly)


def test_means_of_tasks() -> None:
    for rng, matrix in matrices():
        confidence = rng.choice([0.5, 0.9, 0.95, 0.99])
        means, estimate = [average(row) for row in matrix], mean_of_tasks(matrix, confidence=confidence)
        error = scipy_stats.sem(means)
        assert (estimate.mean, estimate.error) == pytest.approx((average(means), error), **exactly)
        half = scipy_stats.t.ppf((1 + confidence) / 2, len(means) - 1) * error
        expected = (average(means) - half, average(means) + half)
        assert (estimate.interval.low, estimate.interval.high) == pytest.approx(expected, **exactly)


def test_clustered_errors() -> None:
    for _, matrix in matrices():
        values = list(chain.from_iterable(matrix))
        influence = [len(matrix) / len(values) * (sum(row) - len(row) * average(values)) for row in matrix]
        assert clustered_error(matrix) == pytest.approx(scipy_stats.sem(influence), **exactly)


def test_paired_differences() -> None:
    for rng, matrix in matrices():
        other = [[rng.triangular(0, 1, max(row)) for _ in range(rng.randint(1, 5))] for row in matrix]
        paired = paired_difference(dict(enumerate(matrix)), dict(enumerate(other))).difference
        expected = scipy_stats.ttest_rel([average(row) for row in matrix], [average(row) for row in other])
        interval = expected.confidence_interval(0.95)
        assert paired.mean / paired.error == pytest.approx(expected.statistic, **exactly)
        assert (paired.interval.low, paired.interval.high) == pytest.approx((interval.low, interval.high), **exactly)


@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.9, 0.95, 0.99, 0.9999])
def test_student_quantiles(confidence: float) -> None:
    freedoms = [*range(1, 60), 99, 100, 999, 1_000, 50_001]
    expected = scipy_stats.t.ppf((1 + confidence) / 2, freedoms)
    assert [student_quantile(freedom, confidence) for freedom in freedoms] == pytest.approx(list(expected), rel=1e-9)
