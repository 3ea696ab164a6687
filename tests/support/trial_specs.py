"""What a worker knows of trials that were recorded elsewhere."""

from oddish.trials.spec import TrialSpec

GREET = TrialSpec(
    trial_id="greet-0a1b2c3d-0",
    experiment_id="e0000000",
    task_name="greet",
    content_hash="",
    archive_key="",
    agent="terminus-2",
    model="openai/scripted-b",
    agent_kwargs={},
    environment="docker",
    harbor={},
    env={},
    correlation_id="evals-42",
)
"""Of the jobs 14 of ``support.harbor_jobs``."""
