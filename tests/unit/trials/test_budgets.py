"""Cost limits are refused where nobody could hold them."""

import pytest

from oddish.pricing import Prices
from oddish.trials.budgets import Unpriced, check_priced

PRICES = Prices.read()


def test_an_agent_whose_model_has_a_price_can_be_limited() -> None:
    check_priced([("own:Costly", "anthropic/claude-haiku-4-5")], PRICES)


def test_an_agent_without_a_model_is_named() -> None:
    with pytest.raises(Unpriced) as refused:
        check_priced([("own:Costly", None)], PRICES)
    assert refused.value.message == "No model is named for agent 'own:Costly', so what it costs cannot be limited."
    assert "with -m" in str(refused.value.fix)


def test_a_model_without_a_price_is_named() -> None:
    with pytest.raises(Unpriced, match="No price is known for model 'openai/unheard-of'"):
        check_priced([("codex", "openai/unheard-of")], PRICES)
