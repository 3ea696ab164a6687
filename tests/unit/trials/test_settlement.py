"""What an attempt cost: its agent's own figure where that can be trusted, else an estimate that is marked as one."""

from datetime import UTC, datetime

import pytest

from oddish.engine.results import Usage as Reported
from oddish.pricing import Prices
from oddish.transcript import Usage
from oddish.transcript.usage import total
from oddish.trials.ledger import Spending
from oddish.trials.settlement import Asked, claimed, settle, so_far

NOW = datetime(2026, 11, 30, tzinfo=UTC)
PRICES = Prices.read()
CLAUDE = "anthropic/claude-haiku-4-5"
MILLION = 1_000_000


def by_model(**usages: Usage) -> Usage:
    """The sum of figures by model."""
    return total({name.replace("_", "-"): usage for name, usage in usages.items()})


def cost(
    agent: str, model: str | None, reported: Reported, counted: Usage | None = None, **env: str
) -> tuple[float | None, bool | None]:
    spending = settle(Asked(agent, model, env), reported, counted, PRICES, NOW)
    return spending.cost_usd, spending.cost_is_estimated


def test_an_agents_own_figure_counts() -> None:
    assert cost("claude-code", CLAUDE, Reported(MILLION, 0, 0, 0.7)) == (0.7, False)
    assert cost("opencode", "openai/scripted-a", Reported(MILLION, 0, 0, 0.2)) == (0.2, False)


def test_without_one_it_is_estimated_from_the_tokens() -> None:
    assert cost("claude-code", CLAUDE, Reported(MILLION, 500_000, MILLION, None)) == (pytest.approx(5.55), True)


def test_a_model_without_a_price_has_no_cost() -> None:
    assert cost("mini-swe-agent", "openai/scripted-a", Reported(MILLION, 0, 0, 0.0)) == (None, None)
    assert cost("claude-code", None, Reported(MILLION, 0, 0, None)) == (None, None)


def test_nothing_for_something_is_no_cost_but_an_unknown_one() -> None:
    assert cost("mini-swe-agent", "openai/gpt-5.5", Reported(MILLION, 0, 0, 0.0)) == (5.0, True)


@pytest.mark.parametrize("amount", [-1.0, 0.0, 1e10, 1e308])
def test_what_nobody_pays_is_no_cost(amount: float) -> None:
    assert cost("aider", "openai/scripted-a", Reported(None, None, None, amount)) == (None, None)
    assert cost("codex", "openai/scripted-a", Reported(1, 0, 0, amount)) == (None, None)


def test_what_an_engine_works_out_from_a_list_is_an_estimate() -> None:
    assert cost("codex", "openai/gpt-5.5", Reported(MILLION, 0, 0, 4.9)) == (5.0, True)
    assert cost("codex", "openai/unheard-of", Reported(MILLION, 0, 0, 4.9)) == (4.9, True)


@pytest.mark.parametrize(
    ("model", "env"),
    [
        ("zai/glm-4.6", {}),
        ("openrouter/anthropic/claude-haiku-4.5", {}),
        ("anthropic/glm-4.6", {"ANTHROPIC_BASE_URL": "https://api.z.ai/api/anthropic"}),
    ],
)
def test_claude_code_is_not_believed_about_models_of_others(model: str, env: dict[str, str]) -> None:
    spent, estimated = cost("claude-code", model, Reported(MILLION, 0, 0, 5.0), **env)
    assert spent != 5.0
    assert estimated is (None if spent is None else True)


def test_what_spent_nothing_known_has_no_figures() -> None:
    spending = settle(Asked("claude-code", CLAUDE), Reported(), None, PRICES, NOW)
    assert (spending.input_tokens, spending.cost_usd, spending.cost_is_estimated) == (None, None, None)


def test_what_was_run_elsewhere_is_taken_as_it_says() -> None:
    spending = claimed(Reported(1, 2, 3, 0.5))
    assert (spending.input_tokens, spending.cost_usd, spending.cost_is_estimated) == (1, 0.5, False)


def test_a_transcript_that_has_figures_is_what_counts() -> None:
    counted = by_model(claude_haiku_4_5=Usage(MILLION, 200_000, 300_000, MILLION))
    spending = settle(Asked("claude-code", CLAUDE), Reported(5, 0, 5, 0.1), counted, PRICES, NOW)
    assert (spending.input_tokens, spending.cache_tokens) == (MILLION, 200_000)
    assert (spending.cache_write_tokens, spending.output_tokens) == (300_000, MILLION)
    assert (spending.cost_usd, spending.cost_is_estimated) == (pytest.approx(0.5 + 0.02 + 0.375 + 5), True)
    assert spending.model == CLAUDE


def test_each_model_of_an_attempt_has_its_own_price() -> None:
    counted = by_model(claude_haiku_4_5=Usage(MILLION), claude_sonnet_4_5=Usage(MILLION))
    assert cost("claude-code", CLAUDE, Reported(), counted) == (4.0, True)


def test_one_model_without_a_price_makes_the_whole_unknown() -> None:
    counted = by_model(claude_haiku_4_5=Usage(MILLION), unheard_of=Usage(1))
    assert cost("claude-code", CLAUDE, Reported(), counted) == (None, None)


@pytest.mark.parametrize(
    ("asked", "used", "named"),
    [
        (CLAUDE, {"foo-9": 5}, "foo-9"),
        (CLAUDE, {"claude-haiku-4-5": MILLION, "mystery-sub-1": 5}, "mystery-sub-1"),
        (CLAUDE, {"claude-haiku-4-5": 5, "mystery-sub-1": 5, "foo-9": 6, "idle": 0}, "foo-9"),
        ("openrouter/them/foo-9", {"foo-9": 5}, "openrouter/them/foo-9"),
        ("openrouter/them/foo-9", {"them/foo-9": 5}, "openrouter/them/foo-9"),
        ("them/foo-9", {"": 5}, "them/foo-9"),
        (None, {"claude-haiku-4-5": MILLION, "foo-9": 5}, "foo-9"),
    ],
)
def test_of_an_unknown_cost_the_model_that_has_no_price_is_named(
    asked: str | None, used: dict[str, int], named: str
) -> None:
    counted = total({name: Usage(count) for name, count in used.items()})
    spending = settle(Asked("claude-code", asked), Reported(), counted, PRICES, NOW)
    assert (spending.cost_usd, spending.unpriced, spending.model) == (None, True, named)


@pytest.mark.parametrize(
    ("spending", "unpriced"),
    [
        (Spending(input_tokens=400_000, output_tokens=0), True),
        (Spending(output_tokens=3), True),
        (Spending(input_tokens=0, output_tokens=0), False),
        (Spending(), False),
        (Spending(input_tokens=5, cost_usd=0.0), False),
    ],
)
def test_any_token_without_a_price_makes_the_cost_unknown(spending: Spending, unpriced: bool) -> None:
    assert spending.unpriced is unpriced


def test_while_it_runs_the_models_that_have_a_price_are_counted() -> None:
    counted = by_model(claude_haiku_4_5=Usage(MILLION), unheard_of=Usage(1))
    assert so_far(Asked("claude-code", CLAUDE), counted, PRICES, NOW).cost_usd == 1.0
    unheard_of = so_far(Asked("claude-code", CLAUDE), by_model(unheard_of=Usage(1)), PRICES, NOW)
    assert (unheard_of.cost_usd, unheard_of.cost_is_estimated) == (None, None)


def test_a_model_that_used_nothing_needs_no_price() -> None:
    counted = by_model(claude_haiku_4_5=Usage(MILLION), unheard_of=Usage())
    assert cost("claude-code", CLAUDE, Reported(), counted) == (1.0, True)
    assert cost("claude-code", CLAUDE, Reported(), by_model(unheard_of=Usage())) == (None, None)


def test_the_figure_of_a_transcript_is_the_agents_own() -> None:
    counted = by_model(scripted_a=Usage(MILLION, cost_usd=0.3))
    assert cost("opencode", "openai/scripted-a", Reported(MILLION, 0, 0, None), counted) == (0.3, False)


def test_a_claude_code_that_did_not_come_to_its_end_has_no_figure_of_its_own() -> None:
    counted = by_model(claude_haiku_4_5=Usage(MILLION))
    assert cost("claude-code", CLAUDE, Reported(MILLION, 0, 0, 9.9), counted) == (1.0, True)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ("openrouter/anthropic/claude-haiku-4.5", "anthropic/claude-haiku-4.5"),
        (CLAUDE, ""),
        (CLAUDE, "claude-haiku-4-5"),
    ],
)
def test_programs_may_leave_the_provider_out(asked: str, named: str) -> None:
    counted = total({named: Usage(MILLION)})
    spending = so_far(Asked("opencode", asked), counted, PRICES, NOW)
    assert (spending.cost_usd, spending.cost_is_estimated) == (1.0, True)


def test_the_model_that_answered_counts_where_none_was_asked_for() -> None:
    spending = so_far(Asked("opencode", None), by_model(claude_haiku_4_5=Usage(MILLION)), PRICES, NOW)
    assert (spending.model, spending.cost_usd) == ("claude-haiku-4-5", 1.0)
