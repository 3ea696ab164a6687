"""The statistics of pass rates and rewards. Pure; standard library only.

A task is sampled, its attempts are not independent of each other: whatever is said about a set of tasks rests on one
number per task. ``T`` is the number of tasks, ``n`` a task's valid attempts, ``c`` those of them that passed.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

CONFIDENCE = 0.95
MAX_CONFIDENCE = 0.9999
RESAMPLES = 10_000
DETECTABLE_ERRORS = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)
LARGEST = 10_000_000
"""Most attempts at a task and degrees of freedom that are computed with."""
_NEWTON_STEPS = 200
_NEWTON_PRECISION = 1e-14
_FEW_FACTORS = 1_000
"""Up to here chances of draws are quotients of whole numbers."""
_NO_CHANCE = math.log(5e-324) - 1
"""Logarithms below are of numbers that no float is near, except 0."""
_SMALL_FREEDOM = 1_000
"""Up to here Student's distribution is summed up; from here its expansion errs by less than a float can show."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, both ends included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Attempts:
    """How the attempts at one task went. Raises ``ValueError`` unless 0 <= passed <= valid <= ``LARGEST``."""

    valid: int
    """``n``"""
    passed: int
    """``c``"""

    def __post_init__(self) -> None:
        if not 0 <= self.passed <= self.valid:
            raise ValueError(f"passed={self.passed} is not between 0 and valid={self.valid}")
        if self.valid > LARGEST:
            raise ValueError(f"valid={self.valid} is above {LARGEST}")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over tasks, each counting once.

    ``error`` and ``interval`` are None for fewer than two tasks. They are zero and of no width when all tasks have the
    same value, which is no proof of certainty. A number beyond the range of a float is None.
    """

    mean: float | None
    """None without tasks."""
    error: float | None
    """Standard error: sd / sqrt(T), with the sd over T - 1."""
    interval: Interval | None
    """mean ± t(T - 1) * error. Not cut off at 0 and 1."""
    tasks: int
    """``T``: the tasks that count."""
    left_out: int
    """The tasks that do not."""


@dataclass(frozen=True, slots=True)
class Paired:
    """The first model against the second on the tasks that both have."""

    difference: Estimate
    """Of ``mean(first) - mean(second)`` per task; ``left_out`` are the tasks that only one of them has."""
    wins: int
    """Tasks on which the first has the higher mean."""
    ties: int
    losses: int


def pass_at_k(attempts: Attempts, k: int) -> float | None:
    """The chance that at least one of ``k`` attempts drawn without replacement passed: 1 - C(n - c, k) / C(n, k).

    Unbiased for the chance that at least one of ``k`` new attempts passes. None when n < k. Raises ``ValueError`` for
    k < 1.
    """
    if not _can_draw(attempts, k):
        return None
    chance = _chance_of_all(k, attempts.valid - attempts.passed, attempts.valid)
    return -math.expm1(chance) if isinstance(chance, float) else float(1 - chance)


def pass_hat_k(attempts: Attempts, k: int) -> float | None:
    """pass^k, the chance that all of ``k`` attempts drawn without replacement passed: C(c, k) / C(n, k).

    Unbiased for the chance that ``k`` new attempts all pass. None when n < k. Raises ``ValueError`` for k < 1.
    """
    if not _can_draw(attempts, k):
        return None
    chance = _chance_of_all(k, attempts.passed, attempts.valid)
    return math.exp(chance) if isinstance(chance, float) else float(chance)


def mean_pass_at_k(tasks: Iterable[Attempts], k: int, *, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of ``pass_at_k`` over the tasks with n >= k. Raises ``ValueError`` for k < 1 or a wrong confidence."""
    return _over_tasks([pass_at_k(attempts, k) for attempts in tasks], confidence)


def mean_pass_hat_k(tasks: Iterable[Attempts], k: int, *, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of ``pass_hat_k`` over the tasks with n >= k. Raises ``ValueError`` for k < 1 or a wrong confidence."""
    return _over_tasks([pass_hat_k(attempts, k) for attempts in tasks], confidence)


def mean_of_tasks(rewards: Iterable[Sequence[float]], *, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of the tasks' means, from one sequence of rewards per task, of any lengths.

    Its error is the task-clustered one. Tasks without rewards are left out. Raises ``ValueError`` for a reward that is
    not finite or a wrong confidence.
    """
    means = [_mean(values) if values else None for values in rewards]
    return _estimate([mean for mean in means if mean is not None], means.count(None), confidence)


def bootstrap_interval(
    rewards: Iterable[Sequence[float]],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """The percentile bootstrap interval of ``mean_of_tasks``: tasks are drawn with replacement, ``resamples`` times.

    For fractional rewards of few tasks, whose mean is far from normally distributed; it stays within the smallest and
    the largest task's mean. The same rewards and ``seed`` give the same interval, whatever the order of the tasks. None
    for fewer than two tasks with rewards or sums beyond the range of a float. Raises ``ValueError`` for a reward that
    is not finite, a wrong confidence or fewer than one resample.
    """
    _normal_quantile(confidence)
    if resamples < 1:
        raise ValueError(f"resamples={resamples} is below 1")
    means = sorted(_mean(values) for values in rewards if values)
    numbers = [float(mean) for mean in means]
    count = len(numbers)
    if count < 2 or not math.isfinite(count * max(map(abs, numbers))):
        return None
    draw = random.Random(seed)  # noqa: S311  reproducible on purpose
    drawn = sorted(math.fsum(draw.choices(numbers, k=count)) / count for _ in range(resamples))
    low, high = (_percentile(drawn, (1 + side * confidence) / 2) for side in (-1, 1))
    return Interval(*(min(max(end, numbers[0]), numbers[-1]) for end in (low, high)))


def clustered_error(clusters: Iterable[Sequence[float]]) -> float | None:
    """The standard error of the mean of all values, which are independent between clusters only.

    sqrt(G / (G - 1) * sum over clusters of (sum of x - mean)²) / N, with G clusters, N values and the mean over all N.
    For clusters of one size it equals the error of ``mean_of_tasks``. Empty clusters do not count; None for fewer than
    two. Raises ``ValueError`` for a value that is not finite.
    """
    found = _clustered(clusters)
    return None if found is None else found[1]


def clustered_interval(clusters: Iterable[Sequence[float]], *, confidence: float = CONFIDENCE) -> Interval | None:
    """The mean of all values ± t(G - 1) * ``clustered_error``, with G clusters. Not cut off at 0 and 1.

    Of no width when the clusters have the same mean, which is no proof of certainty. None for fewer than two clusters
    that are not empty or numbers beyond the range of a float. Raises ``ValueError`` for a value that is not finite or a
    wrong confidence.
    """
    _normal_quantile(confidence)
    found = _clustered(clusters)
    if found is None:
        return None
    mean, error, groups = found
    return None if error is None or mean is None else _around(mean, student_quantile(groups - 1, confidence) * error)


def detectable_difference(difference: Estimate) -> float | None:
    """How far from 0 a true difference has to be to be told from 0 in four of five such samples: 2.8 standard errors.

    For a test of both sides at 5 %. None where the error is not known, or is 0, which is no proof of certainty.
    """
    return DETECTABLE_ERRORS * difference.error if difference.error else None


def wilson(attempts: Attempts, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Wilson's score interval for the chance of passing, for attempts that are independent of each other.

    (p + z²/2n ± z * sqrt(p(1 - p)/n + z²/4n²)) / (1 + z²/n), with p = c / n. For the attempts at one task: pooled over
    tasks it is too narrow. None when n = 0. Raises ``ValueError`` for a wrong confidence.
    """
    z, n = _normal_quantile(confidence), attempts.valid
    if n == 0:
        return None
    rate, share = attempts.passed / n, z * z / n
    centre, half = rate + share / 2, math.sqrt(share * (rate * (1 - rate) + share / 4))
    low = (centre - half) / (1 + share) if attempts.passed else 0.0
    high = (centre + half) / (1 + share) if attempts.passed < n else 1.0
    return Interval(max(low, 0.0), min(high, 1.0))


def paired_difference(
    first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]], *, confidence: float = CONFIDENCE
) -> Paired:
    """Compare two models by their rewards per task: the mean of d = mean(first) - mean(second) over common tasks.

    The t interval is that of the paired test, so what the tasks have in common cancels out. A task without rewards is
    as good as absent. Raises ``ValueError`` for a reward that is not finite or a wrong confidence.
    """
    ours, theirs = ({task: _mean(values) for task, values in of.items() if values} for of in (first, second))
    differences = [mean - theirs[task] for task, mean in ours.items() if task in theirs]
    return Paired(
        difference=_estimate(differences, len({*first, *second}) - len(differences), confidence),
        wins=sum(difference > 0 for difference in differences),
        ties=sum(difference == 0 for difference in differences),
        losses=sum(difference < 0 for difference in differences),
    )


@lru_cache(maxsize=1024)
def student_quantile(freedom: int, confidence: float = CONFIDENCE) -> float:
    """The t with P(|T| <= t) = ``confidence`` for Student's distribution with ``freedom`` degrees of freedom.

    Newton's method from the normal quantile, which lies below: the probability is concave, so it only ever rises.
    For many degrees of freedom the expansion around the normal quantile. Raises ``ValueError`` unless
    1 <= freedom <= ``LARGEST`` or for a wrong confidence.
    """
    if freedom < 1:
        raise ValueError(f"freedom={freedom} is below 1")
    if freedom > LARGEST:
        raise ValueError(f"freedom={freedom} is above {LARGEST}")
    t = _normal_quantile(confidence)
    if freedom > _SMALL_FREEDOM:
        return _expanded_quantile(t, freedom)
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    for _ in range(_NEWTON_STEPS):
        density = math.exp(scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = (confidence - _student_probability(t, freedom)) / (2 * density)
        t += step
        if abs(step) <= _NEWTON_PRECISION * t:
            break
    return t


def _expanded_quantile(z: float, freedom: int) -> float:
    """Student's quantile from the normal one, up to the fourth power of 1 / freedom (Abramowitz and Stegun 26.7.5)."""
    terms = (
        (1 / 4, (1, 1)),
        (1 / 96, (5, 16, 3)),
        (1 / 384, (3, 19, 17, -15)),
        (1 / 92_160, (79, 776, 1_482, -1_920, -945)),
    )
    total = z
    for power, (share, coefficients) in enumerate(terms, 1):
        polynomial = 0.0
        for coefficient in coefficients:
            polynomial = polynomial * z * z + coefficient
        total += share * polynomial * z / float(freedom) ** power
    return total


def _student_probability(t: float, freedom: int) -> float:
    """P(|T| <= t): the finite series for whole degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for number in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine * cosine * ((number - 1) / number)
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _normal_quantile(confidence: float) -> float:
    if not 0 < confidence <= MAX_CONFIDENCE:
        raise ValueError(f"confidence={confidence} is not above 0 and at most {MAX_CONFIDENCE}")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _percentile(ordered: Sequence[float], share: float) -> float:
    """Between the two nearest values, in proportion."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _chance_of_all(drawn: int, marked: int, total: int) -> Fraction | float:
    """The chance that all of ``drawn`` out of ``total`` are ``marked``: C(marked, drawn) / C(total, drawn).

    A fraction, or the logarithm of the chance where whole numbers would take long. What is drawn and what is not marked
    can change places, so the smaller of them counts the factors. Each is at most 1 - larger / total, so the product is
    no more than 0 after some 27 * sqrt(total) of them.
    """
    few, many = sorted((drawn, total - marked))
    if drawn > marked:
        return Fraction(0)
    if few <= _FEW_FACTORS:
        return Fraction(math.comb(total - many, few), math.comb(total, few))
    logarithms: list[float] = []
    so_far = 0.0
    for left in range(total, total - few, -1):
        chance = (left - many) / left
        logarithm = math.log(chance) if chance < 0.5 else math.log1p(-many / left)
        logarithms.append(logarithm)
        so_far += logarithm
        if so_far < _NO_CHANCE:
            break
    return math.fsum(logarithms)


def _can_draw(attempts: Attempts, k: int) -> bool:
    if k < 1:
        raise ValueError(f"k={k} is below 1")
    return k <= attempts.valid


def _over_tasks(values: Sequence[float | None], confidence: float) -> Estimate:
    return _estimate(_exact([value for value in values if value is not None]), values.count(None), confidence)


def _estimate(values: Sequence[Fraction], left_out: int, confidence: float) -> Estimate:
    _normal_quantile(confidence)
    count = len(values)
    if not count:
        return Estimate(None, None, None, 0, left_out)
    total = sum(values, Fraction())
    mean = _float(total / count)
    if mean is None or count < 2:
        return Estimate(mean, None, None, count, left_out)
    squares = sum((value * value for value in values), Fraction())
    error = _root((count * squares - total * total) / (count * count * (count - 1)))
    interval = None if error is None else _around(mean, student_quantile(count - 1, confidence) * error)
    return Estimate(mean, error, interval, count, left_out)


def _around(mean: float, half: float) -> Interval | None:
    low, high = mean - half, mean + half
    return Interval(low, high) if math.isfinite(low) and math.isfinite(high) else None


def _clustered(clusters: Iterable[Sequence[float]]) -> tuple[float | None, float | None, int] | None:
    """The mean of all values, its error and the number of clusters that are not empty; None for fewer than two."""
    groups = [_exact(values) for values in clusters if values]
    if len(groups) < 2:
        return None
    sums, size = [sum(values, Fraction()) for values in groups], sum(map(len, groups))
    mean = sum(sums, Fraction()) / size
    total = sum(((of - len(values) * mean) ** 2 for of, values in zip(sums, groups, strict=True)), Fraction())
    return _float(mean), _root(Fraction(len(groups), len(groups) - 1) * total / size**2), len(groups)


def _exact(values: Iterable[float]) -> list[Fraction]:
    """The values as fractions, in which sums are exact and equal means compare equal."""
    return [Fraction(value) for value in _finite(values)]


def _mean(values: Iterable[float]) -> Fraction:
    """As exact: floats are whole numbers over powers of two, the largest of which all others divide."""
    ratios = [value.as_integer_ratio() for value in _finite(values)]
    largest = max(denominator for _, denominator in ratios)
    total = sum(numerator * (largest // denominator) for numerator, denominator in ratios)
    return Fraction(total, largest * len(ratios))


def _finite(values: Iterable[float]) -> list[float]:
    listed = list(values)
    for value in listed:
        if not math.isfinite(value):
            raise ValueError(f"{value} is not finite")
    return listed


def _float(value: Fraction) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _root(value: Fraction) -> float | None:
    number = _float(value)
    return None if number is None else math.sqrt(number)
