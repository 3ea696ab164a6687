"""Spend step by step."""

from datetime import UTC, datetime, timedelta

from oddish.accounting.series import KEYS_SHOWN, NO_MODEL, OTHER, model_key, series
from oddish.accounting.shares import Model, Share
from oddish.accounting.sums import Sums
from oddish.accounting.window import Window

NOW = datetime(2026, 11, 30, 9, 41, tzinfo=UTC)
TODAY = NOW.replace(hour=0, minute=0)
WINDOW = Window(7, NOW)


def share(model: str | None, cost: float, *, days_ago: int = 0, provider: str = "p") -> Share:
    sums = Sums(attempts=1, trials=1, cost_usd=cost, unpriced=int(cost == 0))
    return Share(sums, TODAY - timedelta(days=days_ago), None, None, Model(provider, model))


def test_keys_are_ranked_and_steps_without_spend_are_empty() -> None:
    made = series(WINDOW, "model", [share("a", 1.0), share("b", 2.0, days_ago=3), share(None, 0.0)], model_key)
    assert made.keys == ["b", "a", NO_MODEL]
    assert [step.sums.cost_usd for step in made.steps] == [0, 0, 0, 0, 2.0, 0, 0, 1.0]
    assert made.steps[4].costs == {"b": 2.0}
    assert made.steps[7].costs == {"a": 1.0, NO_MODEL: 0.0}
    assert (made.steps[7].sums.trials, made.steps[7].sums.unpriced) == (2, 1)


def test_a_model_of_two_providers_is_one_key() -> None:
    made = series(WINDOW, "model", [share("m", 1.0), share("m", 2.0, provider="q")], model_key)
    assert (made.keys, made.steps[-1].costs) == (["m"], {"m": 3.0})


def test_what_is_beyond_the_most_expensive_keys_is_one_key() -> None:
    shares = [share(f"m{index:02}", 1.0 + index) for index in range(KEYS_SHOWN + 3)]
    made = series(WINDOW, "model", shares, model_key)
    assert (len(made.keys), made.keys[0], made.keys[-1]) == (KEYS_SHOWN + 1, "m22", OTHER)
    assert made.steps[-1].costs[OTHER] == 1.0 + 2.0 + 3.0
    assert sum(made.steps[-1].costs.values()) == made.steps[-1].sums.cost_usd
