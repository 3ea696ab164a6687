"""Queue keys: one spelling per model, one key for the baselines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.queue.keys import Limits, QueueKey, normalise_model, queue_key


@pytest.mark.parametrize(
    ("given_model", "normalised"),
    [
        (None, None),
        ("", None),
        ("default", None),
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("Claude-Sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("gpt-5.2", "openai/gpt-5.2"),
        ("o3-mini", "openai/o3-mini"),
        ("gemini-3.1-pro", "google/gemini-3.1-pro"),
        ("gemini/gemini-3.1-pro", "google/gemini-3.1-pro"),
        ("fireworks_ai/accounts/x", "fireworks/accounts/x"),
        ("My Model", "my_model"),
        ("olmo-2", "olmo-2"),
    ],
)
def test_models_have_one_spelling(given_model: str | None, normalised: str | None) -> None:
    assert normalise_model(given_model) == normalised


@given(st.text(max_size=40))
def test_normalising_twice_changes_nothing(model: str) -> None:
    once = normalise_model(model)
    assert normalise_model(once) == once


@pytest.mark.parametrize("agent", ["nop", "oracle", "Oracle"])
def test_baselines_share_one_key_whatever_the_model(agent: str) -> None:
    assert queue_key(agent, "openai/gpt-5.2") == QueueKey("default", "nop_oracle")


def test_a_model_is_its_own_key() -> None:
    assert queue_key("codex", "gpt-5.2") == QueueKey("openai", "openai/gpt-5.2")
    assert queue_key("terminus-2", "olmo-2") == QueueKey("default", "olmo-2")
    assert queue_key("custom", None) == QueueKey("default", "default")


def test_limits() -> None:
    limits = Limits(default=8, baseline=256, overrides={"openai/gpt-5.2": 2, "nop_oracle": 4})
    assert [limits.of(key) for key in ("openai/gpt-5.2", "x/y", "nop_oracle")] == [2, 8, 4]
    assert Limits(default=8, baseline=256, overrides={}).of("nop_oracle") == 256
