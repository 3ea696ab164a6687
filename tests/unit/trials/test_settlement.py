"""What an attempt cost: its agent's own figure where that can be trusted, else an estimate that is marked as one."""

from datetime import UTC, datetime

import pytest

from oddish.engine.results import Usage
from oddish.pricing import Prices
from oddish.trials.settlement import Asked, claimed, settle

NOW = datetime(2026, 11, 30, tzinfo=UTC)
PRICES = Prices.read()
CLAUDE = "anthropic/claude-haiku-4-5"
MILLION = 1_000_000


def cost(agent: str, model: str | None, reported: Usage, **env: str) -> tuple[float | None, bool | None]:
    spending = settle(Asked(agent, model, env), reported, PRICES, NOW)
    return spending.cost_usd, spending.cost_is_estimated


def test_an_agents_own_figure_counts() -> None:
    assert cost("claude-code", CLAUDE, Usage(MILLION, 0, 0, 0.7)) == (0.7, False)
    assert cost("opencode", "openai/scripted-a", Usage(MILLION, 0, 0, 0.2)) == (0.2, False)


def test_without_one_it_is_estimated_from_the_tokens() -> None:
    assert cost("claude-code", CLAUDE, Usage(MILLION, 500_000, MILLION, None)) == (pytest.approx(5.55), True)


def test_a_model_without_a_price_has_no_cost() -> None:
    assert cost("mini-swe-agent", "openai/scripted-a", Usage(MILLION, 0, 0, 0.0)) == (None, None)
    assert cost("claude-code", None, Usage(MILLION, 0, 0, None)) == (None, None)


def test_nothing_for_something_is_no_cost_but_an_unknown_one() -> None:
    assert cost("mini-swe-agent", "openai/gpt-5.5", Usage(MILLION, 0, 0, 0.0)) == (5.0, True)


def test_what_an_engine_works_out_from_a_list_is_an_estimate() -> None:
    assert cost("codex", "openai/gpt-5.5", Usage(MILLION, 0, 0, 4.9)) == (5.0, True)
    assert cost("codex", "openai/unheard-of", Usage(MILLION, 0, 0, 4.9)) == (4.9, True)


@pytest.mark.parametrize(
    ("model", "env"),
    [
        ("zai/glm-4.6", {}),
        ("openrouter/anthropic/claude-haiku-4.5", {}),
        ("anthropic/glm-4.6", {"ANTHROPIC_BASE_URL": "https://api.z.ai/api/anthropic"}),
    ],
)
def test_claude_code_is_not_believed_about_models_of_others(model: str, env: dict[str, str]) -> None:
    spent, estimated = cost("claude-code", model, Usage(MILLION, 0, 0, 5.0), **env)
    assert spent != 5.0
    assert estimated is (None if spent is None else True)


def test_what_spent_nothing_known_has_no_figures() -> None:
    spending = settle(Asked("claude-code", CLAUDE), Usage(), PRICES, NOW)
    assert (spending.input_tokens, spending.cost_usd, spending.cost_is_estimated) == (None, None, None)


def test_what_was_run_elsewhere_is_taken_as_it_says() -> None:
    spending = claimed(Usage(1, 2, 3, 0.5))
    assert (spending.input_tokens, spending.cost_usd, spending.cost_is_estimated) == (1, 0.5, False)
