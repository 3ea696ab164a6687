"""Prices of models: found by the most specific name, for the moment of the run, and never made up."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oddish.pricing import Prices, Rates
from oddish.pricing.names import candidates
from oddish.pricing.table import OWN, UnreadablePrices

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MILLION = 1_000_000
Operators = Callable[[object], Prices]


@dataclass(frozen=True)
class Counts:
    input_tokens: int = 0
    cache_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0


@pytest.fixture
def operators(tmp_path: Path) -> Operators:
    def read(document: object) -> Prices:
        path = tmp_path / "prices.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return Prices.read(path)

    return read


def test_each_kind_of_token_has_its_rate() -> None:
    rates = Rates(input=3, output=15, cache_read=0.3, cache_write=3.75)
    assert rates.cost(Counts(input_tokens=MILLION)) == 3
    assert rates.cost(Counts(output_tokens=MILLION)) == 15
    assert rates.cost(Counts(input_tokens=MILLION, cache_tokens=MILLION)) == pytest.approx(0.3)
    assert rates.cost(Counts(input_tokens=MILLION, cache_write_tokens=MILLION)) == pytest.approx(3.75)
    mixed = Counts(input_tokens=1000, cache_tokens=600, cache_write_tokens=300, output_tokens=10)
    assert rates.cost(mixed) == pytest.approx((100 * 3 + 600 * 0.3 + 300 * 3.75 + 10 * 15) / MILLION)


def test_counts_that_contradict_each_other_never_make_a_cost_negative() -> None:
    rates = Rates.of(1, 1)
    assert rates.cost(Counts(input_tokens=10, cache_tokens=50, cache_write_tokens=50)) == 10 / MILLION


def test_a_list_without_rates_for_a_cache_charges_reads_as_input_and_writes_a_quarter_more() -> None:
    assert Rates.of(4, 8) == Rates(input=4, output=8, cache_read=4, cache_write=5)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (
            "claude-sonnet-4-5-20250929",
            [("anthropic", "claude-sonnet-4-5-20250929"), ("anthropic", "claude-sonnet-4-5")],
        ),
        ("openai/gpt-5.2-2025-12-11", [("openai", "gpt-5.2-2025-12-11"), ("openai", "gpt-5.2")]),
        (
            "openrouter/anthropic/claude-sonnet-4.5:beta",
            [
                ("openrouter", "anthropic/claude-sonnet-4.5:beta"),
                ("openrouter", "anthropic/claude-sonnet-4.5"),
                ("anthropic", "claude-sonnet-4.5:beta"),
                ("anthropic", "claude-sonnet-4.5"),
            ],
        ),
        ("bedrock/us.anthropic.claude-opus-4-6-v1:0", [
            ("bedrock", "us.anthropic.claude-opus-4-6-v1:0"),
            ("bedrock", "us.anthropic.claude-opus-4-6"),
            ("anthropic", "claude-opus-4-6-v1:0"),
            ("anthropic", "claude-opus-4-6"),
        ]),
        ("hosted_vllm/meta-llama/Llama-3-70b", [("hosted_vllm", "meta-llama/llama-3-70b")]),
        ("openrouter/qwen/qwen3:free", [("openrouter", "qwen/qwen3:free"), ("qwen", "qwen3:free")]),
        ("something", [(None, "something")]),
        ("", []),
    ],
)  # fmt: skip
def test_the_most_specific_name_is_tried_first(model: str, names: list[tuple[str | None, str]]) -> None:
    assert list(candidates(model)) == names


def test_a_name_of_any_length_is_looked_up_under_few() -> None:
    assert len(list(candidates("a/b" + ":x" * 100))) < 10


@pytest.mark.parametrize(
    ("model", "rates"),
    [
        ("anthropic/claude-sonnet-4-5-20250929", Rates(3, 15, 0.3, 3.75)),
        ("claude-haiku-4-5", Rates(1, 5, 0.1, 1.25)),
        ("openai/gpt-5.5", Rates(5, 30, 0.5, 6.25)),
        ("gemini/gemini-2.5-pro", Rates(1.25, 10, 0.125, 1.5625)),
        ("xai/grok-4", Rates(3, 15, 0.75, 3.75)),
    ],
)
def test_published_prices_are_known(model: str, rates: Rates) -> None:
    assert Prices.read().rates(model, NOW) == rates


@pytest.mark.parametrize(
    "model", ["openai/scripted-a", "hosted_vllm/meta-llama/Llama-3-70b", "anthropic/claude-x", None]
)
def test_a_model_without_a_price_costs_nothing_known(model: str | None) -> None:
    assert Prices.read().price(model, Counts(input_tokens=1), NOW) is None


def test_our_own_table_has_what_the_catalogue_lacks_and_says_where_it_is_from() -> None:
    entries = json.loads(OWN.read_text())
    assert all(price["source"] for listed in entries.values() for price in listed)
    assert not [model for model in entries if Prices().rates(model, NOW)]
    assert Prices.read().rates("mistral/devstral-medium-2507", NOW) == Rates(0.4, 2, 0.04, 0.5)


def test_an_operators_prices_go_before_those_that_are_published(operators: Operators) -> None:
    prices = operators({"anthropic/claude-haiku-4-5": [{"input": 2, "output": 4}], "MINE": [{"input": 0, "output": 0}]})
    assert prices.rates("anthropic/claude-haiku-4-5-20251001", NOW) == Rates.of(2, 4)
    assert prices.price("mine", Counts(input_tokens=MILLION), NOW) == 0
    assert prices.rates("anthropic/claude-sonnet-4-5", NOW) == Rates(3, 15, 0.3, 3.75)


def test_a_price_holds_from_its_day_until_the_next_one(operators: Operators) -> None:
    prices = operators({"a/b": [{"from": "2026-06-01", "input": 2, "output": 2}, {"from": "2026-01-01", "input": 1, "output": 1}]})  # fmt: skip  # noqa: E501
    found = [prices.rates("a/b", datetime(2026, month, 1, tzinfo=UTC)) for month in (1, 5, 6, 11)]
    assert found == [Rates.of(1, 1), Rates.of(1, 1), Rates.of(2, 2), Rates.of(2, 2)]
    assert prices.rates("a/b", datetime(2025, 12, 31, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("nonsense", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ([], "holds no JSON object"),
        ({"": [{"input": 1, "output": 1}]}, "'' names no model"),
        ({"a/b": []}, "'a/b' has no list of prices"),
        ({"a/b": ["3"]}, "'a/b': '3' is no price"),
        ({"a/b": [{"input": 1}]}, "'a/b': output is None, which is no number"),
        ({"a/b": [{"input": "1", "output": 1}]}, "'a/b': input is '1', which is no number"),
        ({"a/b": [{"input": 1, "output": -1}]}, "'a/b': output is -1, which is below 0"),
        ({"a/b": [{"input": 1e308, "output": 1}]}, "'a/b': input is 1e+308, which is above 1,000,000"),
        ({"a/b": [{"input": 1, "output": 1, "cached": 1}]}, "'a/b': 'cached' is no part of a price"),
        ({"a/b": [{"input": 1, "output": 1, "from": "May"}]}, "'a/b': from is 'May', which is no day"),
        ({"a/b": [{"input": 1, "output": 1}, {"input": 2, "output": 1}]}, "'a/b' has two prices from the same day"),
        (
            {"a/b": [{"input": 1, "output": 1}], "A/B": [{"input": 1, "output": 1}]},
            "'a/b' is priced twice, once as 'A/B'",
        ),
    ],
)
def test_a_table_that_cannot_be_read_names_the_value(operators: Operators, document: object, said: str) -> None:
    with pytest.raises(UnreadablePrices, match=r"prices\.json") as refused:
        operators(document)
    assert said in refused.value.message
    assert refused.value.fix


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadablePrices, match="No such file"):
        Prices.read(tmp_path / "none.json")
