"""The statistics against SciPy, on a thousand random matrices of tasks by attempts.

Run with ``-s`` to read, for each function, how many values were compared and the greatest difference.
"""

import math
import random
import sys
from collections.abc import Iterable, Iterator
from itertools import chain

import pytest
import scipy

from oddish.stats import (
    Attempts,
    bootstrap_interval,
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


class Comparison:
    """Values of ours against SciPy's, which agree to nine digits. The difference of values above 1 is relative."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._cases = 0
        self._greatest = 0.0

    def check(self, ours: Iterable[float | None], theirs: Iterable[float]) -> None:
        for own, other in zip(ours, theirs, strict=True):
            assert own == pytest.approx(other, rel=1e-9, abs=1e-12)
            self._cases += 1
            self._greatest = max(self._greatest, abs(own - other) / max(1.0, abs(other)))

    def report(self) -> None:
        assert self._cases >= MATRICES / 2
        sys.stdout.write(f"\n{self._name:24} {self._cases:7} values  greatest difference {self._greatest:.1e}")


def test_passes_at_k() -> None:
    single, hat_single = Comparison("pass_at_k"), Comparison("pass_hat_k")
    means, hat_means = Comparison("mean_pass_at_k"), Comparison("mean_pass_hat_k")
    for rng, matrix in matrices():
        tasks, k = [counted(row) for row in matrix], rng.randint(1, 6)
        enough = [of for of in tasks if of.valid >= k]
        valid, passed = [of.valid for of in enough], [of.passed for of in enough]
        at, hat = scipy.stats.hypergeom.sf(0, valid, passed, k), scipy.stats.hypergeom.pmf(k, valid, passed, k)
        single.check([pass_at_k(of, k) for of in enough], at)
        hat_single.check([pass_hat_k(of, k) for of in enough], hat)
        for estimate, values, found in (
            (mean_pass_at_k(tasks, k), at, means),
            (mean_pass_hat_k(tasks, k), hat, hat_means),
        ):
            assert (estimate.tasks, estimate.left_out) == (len(enough), len(tasks) - len(enough))
            if len(enough) >= 2:
                found.check([estimate.mean, estimate.error], [values.mean(), scipy.stats.sem(values)])
    for comparison in (single, hat_single, means, hat_means):
        comparison.report()


def test_wilson_intervals() -> None:
    found = Comparison("wilson")
    for rng, matrix in matrices():
        confidence = rng.choice([0.5, 0.9, 0.95, 0.99])
        for of in map(counted, matrix[:3]):
            expected = scipy.stats.binomtest(of.passed, of.valid).proportion_ci(confidence, method="wilson")
            interval = wilson(of, confidence=confidence)
            found.check([interval.low, interval.high], [expected.low, expected.high])
    found.report()


def test_means_of_tasks() -> None:
    found = Comparison("mean_of_tasks")
    for rng, matrix in matrices():
        confidence = rng.choice([0.5, 0.9, 0.95, 0.99])
        means, estimate = [average(row) for row in matrix], mean_of_tasks(matrix, confidence=confidence)
        error = scipy.stats.sem(means)
        half = scipy.stats.t.ppf((1 + confidence) / 2, len(means) - 1) * error
        found.check(
            [estimate.mean, estimate.error, estimate.interval.low, estimate.interval.high],
            [average(means), error, average(means) - half, average(means) + half],
        )
    found.report()


def test_clustered_errors() -> None:
    found = Comparison("clustered_error")
    for _, matrix in matrices():
        values = list(chain.from_iterable(matrix))
        influence = [len(matrix) / len(values) * (sum(row) - len(row) * average(values)) for row in matrix]
        found.check([clustered_error(matrix)], [scipy.stats.sem(influence)])
    found.report()


def test_paired_differences() -> None:
    found = Comparison("paired_difference")
    for rng, matrix in matrices():
        other = [[rng.triangular(0, 1, max(row)) for _ in range(rng.randint(1, 5))] for row in matrix]
        paired = paired_difference(dict(enumerate(matrix)), dict(enumerate(other))).difference
        expected = scipy.stats.ttest_rel([average(row) for row in matrix], [average(row) for row in other])
        interval = expected.confidence_interval(0.95)
        found.check(
            [paired.mean / paired.error, paired.interval.low, paired.interval.high],
            [expected.statistic, interval.low, interval.high],
        )
    found.report()


def test_student_quantiles() -> None:
    found = Comparison("student_quantile")
    freedoms = [*range(1, 160), 199, 999, 1_000, 1_001, 50_001, 10_000_000]
    for confidence in (0.01, 0.5, 0.9, 0.95, 0.99, 0.9999):
        expected = scipy.stats.t.ppf((1 + confidence) / 2, freedoms)
        found.check([student_quantile(freedom, confidence) for freedom in freedoms], expected)
    found.report()


def test_bootstrap_intervals() -> None:
    """Two random samplings agree up to their noise: a tenth of the interval's width is some nine standard errors."""
    cases, greatest = 0, 0.0
    for _, matrix in list(matrices())[:60:2]:
        means = [average(row) for row in matrix]
        if len(means) < 5:
            continue
        theirs = scipy.stats.bootstrap(
            (means,), mean_of, n_resamples=10_000, method="percentile", rng=20_260_701, vectorized=True
        ).confidence_interval
        ours = bootstrap_interval(matrix)
        width = theirs.high - theirs.low
        difference = max(abs(ours.low - theirs.low), abs(ours.high - theirs.high)) / width
        assert difference < 0.1
        cases, greatest = cases + 1, max(greatest, difference)
    assert cases > 20
    sys.stdout.write(f"\n{'bootstrap_interval':24} {cases:7} values  greatest difference {greatest:.1%} of the width")


def mean_of(values, axis):
    return values.mean(axis=axis)
