"""The documents of a pulled job say of the trials what Harbor's own say."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from oddish.pull.job import job_config, job_result, record
from support.harbor_jobs import JOBS

FINISHED = sorted(path.name for path in JOBS.iterdir() if path.name not in ("12-cancelled-sigint", "13-killed"))


def documents(job: str) -> list[tuple[str, object, object]]:
    found = []
    for trial in sorted(path for path in (JOBS / job).iterdir() if path.is_dir()):
        config, result = (
            json.loads((trial / name).read_text()) if (trial / name).exists() else None
            for name in ("config.json", "result.json")
        )
        found.append((trial.name, config, result))
    return found


def comparable(stats: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without the order in which trials ended, and with rewards as numbers."""
    evals = {}
    for key, found in stats["evals"].items():
        rewards = {
            name: {float(value): sorted(trials) for value, trials in values.items()}
            for name, values in found["reward_stats"].items()
        }
        exceptions = {name: sorted(trials) for name, trials in found["exception_stats"].items()}
        evals[key] = found | {"reward_stats": rewards, "exception_stats": exceptions}
    return {**stats, "evals": evals}


@pytest.mark.parametrize("job", FINISHED)
def test_the_result_agrees_with_the_recorded_one(job: str) -> None:
    recorded = json.loads((JOBS / job / "result.json").read_text())
    records = [record(*entry) for entry in documents(job)]
    made = job_result(records, identity=job, running=0, pending=0)
    assert comparable(made["stats"]) == comparable(recorded["stats"])
    assert made["n_total_trials"] == recorded["n_total_trials"]
    assert made["finished_at"] is not None
    assert made == job_result(records, identity=job, running=0, pending=0)


def test_the_configuration_names_each_agent_and_task_once() -> None:
    records = [record(*entry) for entry in documents("14a-terminus2-solved")]
    config = job_config(records, name="trials", parent="/out")
    recorded = json.loads((JOBS / "14a-terminus2-solved" / "config.json").read_text())
    models = [agent["model_name"] for agent in config["agents"]]
    assert sorted(models) == sorted(agent["model_name"] for agent in recorded["agents"])
    assert [task["path"] for task in config["tasks"]] == [task["path"] for task in recorded["tasks"]]
    assert config["environment"] == {"type": "docker"}


def test_trials_that_have_not_ended_keep_the_job_open() -> None:
    records = [record(*entry) for entry in documents("13-killed")]
    made = job_result(records, identity="x", running=1, pending=1)
    recorded = json.loads((JOBS / "13-killed" / "result.json").read_text())
    assert comparable(made["stats"]) == comparable(recorded["stats"])
    assert made["finished_at"] is None


@pytest.mark.parametrize(
    "result",
    [
        [],
        {"agent_info": "x", "verifier_result": {"rewards": {"reward": "1", "b": True, "c": 1e300}}},
        {"step_results": {"a": 1}, "exception_info": [], "started_at": "soon", "reward_valid": "yes"},
        {
            "step_results": [None, {"agent_result": {"n_input_tokens": "many"}}],
            "verifier_result": {"rewards": {"r": 1}},
        },
    ],
)
def test_documents_of_another_shape_do_no_harm(result: object) -> None:
    made = job_result([record("t", {"agent": 1, "task": []}, result)], identity="x", running=0, pending=0)
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert made["stats"]["n_input_tokens"] is None
