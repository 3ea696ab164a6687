"""Usage adds up reports: once under each key, never falling, and never more than what can be stored."""

from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.transcript.usage import (
    COUNT_LIMIT,
    MAX_KEYS,
    MAX_MODELS,
    UNNAMED,
    Figures,
    Tally,
    Usage,
    beside_cache,
    model_name,
    price,
    tokens,
    with_cache,
)

FIGURES = st.builds(Figures, *[st.integers(0, 100)] * 4, st.none() | st.floats(0.01, 1))


def counted(*reports: tuple[object, str, Figures]) -> Usage:
    tally = Tally()
    for key, model, figures in reports:
        tally.put(key, model, figures)  # type: ignore[arg-type]
    return tally.usage()


def test_a_report_under_the_same_key_counts_once_with_its_larger_figures() -> None:
    usage = counted(
        ("a", "m", Figures(10, 5, 1, 1)), ("a", "m", Figures(10, 5, 1, 90)), ("a", "m", Figures(1, 0, 0, 2))
    )
    assert (usage.input_tokens, usage.cache_tokens, usage.cache_write_tokens, usage.output_tokens) == (10, 5, 1, 90)
    assert dict(usage.by_model) == {"m": Usage(10, 5, 1, 90)}


def test_models_are_counted_apart_and_beyond_a_number_together() -> None:
    usage = counted(*((key, f"m{key}", Figures(1, 0, 0, 1)) for key in range(MAX_MODELS + 5)))
    assert usage.input_tokens == MAX_MODELS + 5
    assert len(usage.by_model) == MAX_MODELS + 1
    assert usage.by_model[UNNAMED].output_tokens == 5


def test_answers_that_are_forgotten_stay_counted() -> None:
    usage = counted(*((key, "m", Figures(1, 0, 0, 2)) for key in range(MAX_KEYS + 10)))
    assert (usage.input_tokens, usage.output_tokens) == (MAX_KEYS + 10, 2 * (MAX_KEYS + 10))


def test_a_cost_is_known_only_if_that_of_every_answer_is() -> None:
    assert counted(("a", "m", Figures(1, 0, 0, 1, 0.5)), ("b", "n", Figures(1, 0, 0, 1, 0.25))).cost_usd == 0.75
    half = counted(("a", "m", Figures(1, 0, 0, 1, 0.5)), ("b", "m", Figures(1, 0, 0, 1)))
    assert half.cost_usd is None
    assert counted(("a", "m", Figures(1, 0, 0, 1, 0.5)), ("b", "n", Figures(0, 0, 0, 0))).cost_usd == 0.5


def test_nothing_reported_and_nothing_used_are_two_things() -> None:
    assert not Usage().known
    assert counted(("a", "m", Figures(0, 0, 0, 0))).known


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("mn"), FIGURES), max_size=20))
def test_no_total_ever_falls_and_models_add_up(reports: list[tuple[int, str, Figures]]) -> None:
    tally, before = Tally(), Usage()
    for key, model, figures in reports:
        tally.put(key, model, figures)
        now = tally.usage()
        assert now.not_below(before) == now
        assert now.input_tokens == sum(part.input_tokens for part in now.by_model.values())
        assert now.output_tokens == sum(part.output_tokens for part in now.by_model.values())
        before = now


def test_figures_that_are_none_count_nothing() -> None:
    assert [tokens(value) for value in (3, 3.0, -1, "3", None, True, 10**13, float("nan"), 2.5)] == [
        3,
        3,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ]
    assert [price(value) for value in (0.5, 0, -1, "1", None, float("inf"), 1e12)] == [0.5] + [None] * 6
    assert beside_cache(1, 2, 3, 4) == Figures(6, 2, 3, 4)
    assert with_cache(10, 2, None, 4) == Figures(10, 2, 0, 4)
    assert with_cache(1, 2, 3, 4) == Figures(5, 2, 3, 4)
    assert model_name("m" * 300) == "m" * 200
    assert model_name(None) == UNNAMED
    assert model_name("a\0") == "a\ufffd"


def test_sums_fit_into_64_bits() -> None:
    tally = Tally()
    tally._sums["m"] = Figures(COUNT_LIMIT - 1, 0, 0, 0, 0.0)
    tally.put("a", "m", Figures(10, 0, 0, 1))
    tally.put("b", "n", Figures(10, 0, 0, 1))
    assert tally.usage().input_tokens == COUNT_LIMIT
