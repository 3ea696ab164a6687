"""Jobs of Harbor as files of ``oddish run -c``."""

import json
from pathlib import Path
from typing import Any

import pytest
from harbor.models.job.config import DatasetConfig, JobConfig, RetryConfig
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig, VerifierConfig
from pydantic import BaseModel

from oddish.cli.datasets import Dataset
from oddish.cli.sweep import harborjob
from oddish.cli.sweep.file import UnusableFile, read_file
from oddish.cli.sweep.sweep import Agent, Source, Sweep

JOBS = Path(__file__).parents[2] / "data" / "harbor-jobs"


def write(tmp_path: Path, values: Any) -> Path:
    path = tmp_path / "job.json"
    path.write_text(json.dumps(values))
    return path


def test_a_job_becomes_the_submission_that_runs_the_same_trials(tmp_path: Path) -> None:
    job = {
        "job_name": "nightly",
        "jobs_dir": "/elsewhere",
        "n_attempts": 4,
        "n_concurrent_trials": 9,
        "timeout_multiplier": 1.5,
        "retry": {"max_retries": 2, "min_wait_sec": 5},
        "environment": {"type": "daytona", "override_cpus": 2, "kwargs": {"region": "eu"}, "stream": True},
        "verifier": {"disable": True, "max_timeout_sec": 60},
        "agents": [
            {"name": "codex", "model_name": "openai/gpt-5", "kwargs": {"a": 1}, "include_logs": ["*.txt"]},
            {"import_path": "my:Agent", "env": {"A_TOKEN": "${MINE}"}, "include_logs": ["*.txt"], "n_concurrent": 2},
        ],
        "datasets": [
            {"path": "set", "task_names": ["a*"], "exclude_task_names": ["ab"], "n_tasks": 3},
            {"name": "acme/mine", "ref": "latest"},
            {"name": "mine", "version": "1", "registry_path": "registry.json", "n_tasks": 2},
        ],
        "tasks": [{"path": "one"}],
        "artifacts": ["/app/out"],
    }
    assert read_file(write(tmp_path, job)) == Sweep(
        agents=[
            Agent("codex", "openai/gpt-5", config={"kwargs": {"a": 1}}),
            Agent("my:Agent", config={"env": {"A_TOKEN": "${MINE}"}}),
        ],
        n_trials=4,
        environment="daytona",
        sources=[
            Source(Path("set"), ["a*"], ["ab"], 3),
            Source(Dataset("acme/mine@latest")),
            Source(Dataset("mine@1", Path("registry.json")), limit=2),
            Source(Path("one")),
        ],
        harbor={
            "timeout_multiplier": 1.5,
            "artifacts": ["/app/out"],
            "agent": {"include_logs": ["*.txt"]},
            "environment": {"override_cpus": 2, "kwargs": {"region": "eu"}},
            "verifier": {"disable": True, "max_timeout_sec": 60},
        },
        options={"experiment": "nightly", "max_trial_attempts": 3},
        unused=[
            "jobs_dir",
            "n_concurrent_trials",
            "retry.min_wait_sec",
            "agents[1].n_concurrent",
            "environment.stream",
        ],
    )


@pytest.mark.parametrize("path", sorted(JOBS.glob("*/config.json")), ids=lambda path: path.parent.name)
def test_what_harbor_wrote_of_a_job_is_read(path: Path) -> None:
    job = json.loads(path.read_text())
    sweep = read_file(path)
    assert [agent.name for agent in sweep.agents] == [entry["name"] or entry["import_path"] for entry in job["agents"]]
    assert (sweep.n_trials, sweep.environment) == (job["n_attempts"], job["environment"]["type"])
    assert sweep.options == {"experiment": job["job_name"], "max_trial_attempts": job["retry"]["max_retries"] + 1}


def test_what_harbor_takes_for_granted_is_not_said(tmp_path: Path) -> None:
    job = json.loads(JobConfig(job_name="plain").model_dump_json())
    sweep = read_file(write(tmp_path, job))
    assert (sweep.agents, sweep.harbor, sweep.unused) == ([Agent("oracle")], {}, [])


@pytest.mark.parametrize(
    ("shape", "model", "former"),
    [
        (harborjob.JOB.of, JobConfig, {"orchestrator", "plugins"}),
        (harborjob.AGENT, AgentConfig, set()),
        (harborjob.ENVIRONMENT, EnvironmentConfig, {"mounts_json"}),
        (harborjob.HARBOR_VERIFIER, VerifierConfig, set()),
        (harborjob.DATASET, DatasetConfig, {"registry"}),
        (harborjob.TASK, TaskConfig, set()),
        (harborjob.RETRY.of, RetryConfig, set()),
    ],
)
def test_the_keys_are_those_of_harbor(shape: dict[str, Any], model: type[BaseModel], former: set[str]) -> None:
    assert shape.keys() == model.model_fields.keys() | former


@pytest.mark.parametrize(
    ("job", "named"),
    [
        (
            {"job_name": "a", "agents": [{"name": "nop", "n_trials": 3}]},
            "agents[0].n_trials is not known. It belongs to",
        ),
        ({"datasets": [{"path": "a", "name": "b@1"}]}, "datasets[0] has a path and a name."),
        ({"datasets": [{"name": "b", "version": "1", "ref": "2"}]}, "datasets[0] has a version and a ref."),
        ({"datasets": [{"name": "../b"}]}, "datasets[0] cannot be looked for."),
        ({"datasets": [{"name": "b", "repo": "org/name"}]}, "datasets[0].repo is not supported."),
        ({"datasets": [{"n_tasks": 1}]}, "datasets[0] has no path."),
        ({"tasks": [{"path": "a", "git_url": "https://git.example"}]}, "tasks[0].git_url is not supported."),
        ({"install_only": True}, "install_only is not supported. Leave it out: a trial runs its agent."),
        ({"user_agent": {"name": "x"}}, "user_agent is not supported."),
        ({"environment": {"delete": False}}, "environment.delete is not supported."),
        ({"n_attempts": "two"}, "n_attempts is 'two', not a whole number"),
        ({"job_name": "a", "agents": [{"skills": ["x"]}]}, "agents[0].skills is not supported."),
        ({"job_name": "a", "agents": [{"mcp_servers": [{"name": "a"}]}, {}]}, "agents[1].mcp_servers is not that of"),
        ({"job_name": "a", "agents": [{"env": {"A_KEY": "sk-p****xyz"}}]}, "agents[0].env.A_KEY is redacted"),
        ({"schema_version": 2}, "schema_version is 2, not 1, the only version there is"),
        ({"job_nam": "a", "jobs_dir": "b"}, "job_nam is not known. Did you mean 'job_name'?"),
    ],
)
def test_what_cannot_be_done_of_a_job_is_refused_by_name(tmp_path: Path, job: Any, named: str) -> None:
    with pytest.raises(UnusableFile) as refused:
        read_file(write(tmp_path, job))
    assert named in str(refused.value)
    assert "It was read as a job of Harbor, for it has the key " in str(refused.value)
    assert "sk-p" not in str(refused.value)


def test_former_keys_of_harbor_are_understood(tmp_path: Path) -> None:
    job = {
        "orchestrator": {"n_concurrent_trials": 4, "retry": {"max_retries": 1}},
        "environment": {"mounts_json": [{}]},
    }
    sweep = read_file(write(tmp_path, job))
    assert (sweep.options, sweep.harbor) == ({"max_trial_attempts": 2}, {"environment": {"mounts": [{}]}})
