"""What ``oddish run --json`` prints: what was asked for and, once it was watched, what came of it."""

from collections.abc import Sequence

from oddish.cli.tally import tally
from oddish.cli.watch import Snapshot
from oddish.client.types import Submitted, Trial


def submission(submitted: Sequence[Submitted], trials_of_task: int) -> dict[str, object]:
    return {
        "experiment": submitted[0]["experiment_name"],
        "experiment_id": submitted[0]["experiment_id"],
        "experiment_url": None,
        "public_experiment_url": None,
        "total_trials": trials_of_task * len(submitted),
        "tasks": [
            {
                "id": task["id"],
                "trials_count": task["trials_count"],
                "trials": task["new_trial_ids"],
                "url": None,
                "public_url": None,
            }
            for task in submitted
        ],
    }


def results(submitted: Sequence[Submitted], trials_of_task: int, end: Snapshot) -> dict[str, object]:
    """The same, with every trial that counted for the run and their numbers."""
    found = tally(end.trials)
    return submission(submitted, trials_of_task) | {
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
        "started_at": trial.get("started_at"),
        "finished_at": trial.get("finished_at"),
    }
