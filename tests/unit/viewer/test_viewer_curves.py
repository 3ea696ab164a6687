"""A training run as curves and as what it came to."""

import json
import math

import pytest

from oddish.viewer.curves import METRICS, Metric, Part, curve, flat_steps, metrics, progress
from oddish.viewer.findings import Notes
from oddish.viewer.steps import MOST_OTHERS, Steps
from support.results import STEP


def steps(*documents: dict[str, object]) -> Steps:
    found = Steps()
    lines = [json.dumps({"step": number} | document) for number, document in enumerate(documents, 1)]
    found.read("\n".join(lines).encode(), 1, Notes())
    return found


def test_the_metrics_of_the_contract_come_first_then_others_by_name() -> None:
    assert metrics([steps(STEP)]) == list(METRICS)
    found = metrics([steps({"loss": 1, "lr": 0.1}), steps({"reward": 0, "grad_norm": 2, "note": "text"})])
    assert [metric.name for metric in found] == ["reward", "loss", "grad_norm", "lr"]
    many = metrics([steps({f"m{number:03}": number for number in range(100)})])
    assert len(many) == MOST_OTHERS


def test_a_curve_has_gaps_where_a_value_is_missing_and_the_spread_around_its_values() -> None:
    found = curve(steps({"reward": 0.5, "reward_std": 0.25}, {}, {"reward": 1}), METRICS[0])
    assert (found.values[0], found.values[2]) == (0.5, 1)
    assert math.isnan(found.values[1])
    assert found.spread is not None
    assert found.spread[0] == 0.25
    assert math.isnan(found.spread[2])
    assert curve(steps({"lr": 1}), Metric("lr", "lr")).spread is None


def test_a_step_is_flat_when_its_rewards_do_not_differ_and_not_when_nothing_is_said() -> None:
    assert flat_steps(steps({"reward_std": 0}, {"reward_std": 0.1}, {"reward": 1}, {"reward_std": 0.0})) == [1, 4]


def test_a_run_comes_to_its_last_and_best_reward_and_shares_with_what_they_are_of() -> None:
    found = progress(
        steps(
            {"reward": 0.2, "reward_std": 0, "n_rollouts": 8, "n_unscorable": 1, "wall_s": 10},
            {"reward": 0.9, "reward_std": 0.1, "n_rollouts": 8, "n_unscorable": 3, "wall_s": 30},
            {"reward": 0.9, "n_rollouts": 8},
            {"reward_std": 0, "n_unscorable": 5},
        )
    )
    assert (found.steps, found.first_step, found.last_step) == (4, 1, 4)
    assert (found.last_reward, found.best_reward, found.best_step) == (0.9, 0.9, 2)
    assert found.flat == Part(2, 3)
    assert found.unscorable == Part(4, 16)
    assert found.unscorable.share == 0.25
    assert (found.seconds, found.mean_seconds) == (40, 20)


@pytest.mark.parametrize("empty", [steps(), steps({"step": None})])
def test_nothing_is_made_up_of_a_run_that_says_nothing(empty: Steps) -> None:
    found = progress(empty)
    assert (found.last_reward, found.best_reward, found.last_step, found.mean_seconds) == (None, None, None, None)
    assert (found.flat.share, found.unscorable.share) == (None, None)
    assert metrics([empty]) == []
