"""Trials of lists are written without being checked, and read as those that are."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic_core import to_json

from oddish.api.routes.reads import trial_members
from oddish.schemas.tasks import QueueInfo, TrialResponse
from oddish.trials import waiting
from oddish.trials.queries import Trial

NOW = datetime(2026, 11, 30, 12, 30, 0, 120000, tzinfo=UTC)
FIRST = Trial(
    id="t-0",
    name="t-0",
    task_id="t",
    task_version=1,
    task_version_id="t-v1",
    experiment_id="e",
    trial_index=0,
    agent="oracle",
    model=None,
    provider="oracle",
    queue_key="oracle",
    environment="local",
    agent_config={"env": {"KEY": None}, "kwargs": {"n": 1.5}},
    harbor_config={},
    origin="oddish",
    is_probe=False,
    status="queued",
    attempts=0,
    max_attempts=3,
    harbor_stage=None,
    reward=None,
    rewards=None,
    result=None,
    reasons=[],
    error_message=None,
    input_tokens=None,
    cache_tokens=None,
    cache_write_tokens=None,
    output_tokens=None,
    total_steps=None,
    total_tool_calls=None,
    tool_counts=None,
    duration_seconds=None,
    cost_usd=None,
    cost_is_estimated=None,
    phase_timing=None,
    has_trajectory=False,
    superseded_by_trial_id=None,
    correlation_id=None,
    created_at=NOW,
    started_at=None,
    finished_at=None,
)
WAIT = waiting.QueueInfo(
    position=1, ahead=0, queued_count=1, running_count=0, concurrency_limit=2, reason="no worker is there"
)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {
            "status": "success",
            "reward": 1.0,
            "rewards": {"reward": 1, "other": float("nan")},
            "result": {"text": "ü\u2028", "nested": [{"at": 1e300}]},
            "tool_counts": {"Bash": 3},
            "cost_usd": 0.1 + 0.2,
            "phase_timing": {"agent": {"started_at": "2026-11-30T12:30:00Z"}},
            "started_at": NOW,
            "finished_at": NOW.replace(microsecond=0),
        },
        {"harbor_config": {"source": "git+https://example.org/harbor", "sha": "0" * 40}},
    ],
    ids=["one that waits", "one that has ended", "one of another Harbor"],
)
@pytest.mark.parametrize("waits", [{}, {"t-0": WAIT}], ids=["", "waiting"])
def test_they_say_the_same(changes: dict[str, Any], waits: dict[str, waiting.QueueInfo]) -> None:
    trial = FIRST._replace(**changes)
    checked = TrialResponse.model_validate(trial)
    if waits:
        checked.queue_info = QueueInfo.model_validate(WAIT)
    assert json.loads(to_json(trial_members(trial, waits), inf_nan_mode="null")) == json.loads(
        checked.model_dump_json()
    )
