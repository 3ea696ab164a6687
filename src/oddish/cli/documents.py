"""What ``oddish run --json`` prints: what was asked for and, once it was watched, what came of it."""

from collections.abc import Sequence

from oddish.cli.tally import tally
from oddish.cli.watch import Snapshot
from oddish.client.types import Submitted, Trial


def submission(submitted: Sequence[Submitted], trials_of_task: int, public_url: str | None = None) -> dict[str, object]:
    """``public_url`` is where the experiment can be read without a key, if it was published."""
    return {
        "experiment": submitted[0]["experiment_name"],
        "experiment_id": submitted[0]["experiment_id"],
        "experiment_url": None,
        "public_experiment_url": public_url,
        "total_trials": trials_of_task * len(submitted),
        "tasks": [
            {
                "id": task["id"],
                "trials_count": task["trials_count"],
                "trials": task["new_trial_ids"],
                "url": None,
                "public_url": public_url and f"{public_url}/tasks/{task['id']}",
            }
            for task in submitted
        ],
    }


def results(
    submitted: Sequence[Submitted], trials_of_task: int, end: Snapshot, public_url: str | None = None
) -> dict[str, object]:
    """The same, with every trial that counted for the run and their numbers."""
    found = tally(end.trials)
    return submission(submitted, trials_of_task, public_url) | {
        "successful": end.successful,
        "summary": {
            "trials": found.total,
            "statuses": dict(found.counts),
            "scored": found.scored,
            "passed": found.passed,
            "not_verified": found.unverified,
            "mean_reward": found.mean,
        },
        "results": [_result(trial) for trial in end.trials],
    }


def _result(trial: Trial) -> dict[str, object]:
    return {
        "id": trial["id"],
        "task_id": trial["task_id"],
        "agent": trial["agent"],
        "model": trial["model"],
        "status": trial["status"],
        "reward": trial["reward"],
        "rewards": trial.get("rewards"),
        "reasons": trial.get("reasons") or [],
        "error": trial.get("error_message"),
        "attempts": trial["attempts"],
        "input_tokens": trial.get("input_tokens"),
        "output_tokens": trial.get("output_tokens"),
        "cost_usd": trial.get("cost_usd"),
        "cost_is_estimated": trial.get("cost_is_estimated"),
        "started_at": trial.get("started_at"),
        "finished_at": trial.get("finished_at"),
    }
