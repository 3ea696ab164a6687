"""What the worker says of an attempt whose cost nobody knows."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from oddish.engine.results import TrialFacts
from oddish.pricing import Prices
from oddish.worker.spending import spent
from support.trial_specs import GREET

HAIKU = "claude-haiku-4-5"
SPEC = replace(GREET, agent="claude-code", model=f"anthropic/{HAIKU}")
PRICES = Prices.read()


def answered(trial_dir: Path, **tokens: tuple[int, int]) -> None:
    """Leave the session of a claude-code whose models read and wrote that many tokens."""
    session = trial_dir / "agent" / "sessions" / "projects" / "app" / "session.jsonl"
    session.parent.mkdir(parents=True)
    answers = [
        {
            "type": "assistant",
            "requestId": f"r{index}",
            "message": {
                "id": f"m{index}",
                "model": model.replace("_", "-"),
                "role": "assistant",
                "content": [{"type": "text", "text": "Done."}],
                "usage": {"input_tokens": read, "output_tokens": written},
            },
        }
        for index, (model, (read, written)) in enumerate(tokens.items())
    ]
    session.write_text("".join(json.dumps(answer) + "\n" for answer in answers))


@pytest.mark.parametrize(
    ("tokens", "named"),
    [
        ({"foo_9": (400_000, 0)}, "foo-9"),
        ({"claude_haiku_4_5": (1000, 1000), "mystery_sub_1": (10, 1)}, "mystery-sub-1"),
    ],
)
def test_the_log_names_the_model_that_has_no_price(
    tmp_path: Path, tokens: dict[str, tuple[int, int]], named: str
) -> None:
    answered(tmp_path, **tokens)
    with capture_logs() as logs:
        spending = spent(SPEC, TrialFacts(), tmp_path, PRICES)
    assert (spending.cost_usd, spending.model) == (None, named)
    assert [(line["event"], line["model"]) for line in logs] == [("trial_cost_unpriced", named)]


def test_nothing_is_logged_of_a_cost_that_is_known(tmp_path: Path) -> None:
    answered(tmp_path, claude_haiku_4_5=(1000, 1000))
    with capture_logs() as logs:
        assert spent(SPEC, TrialFacts(), tmp_path, PRICES).model == f"anthropic/{HAIKU}"
    assert logs == []
