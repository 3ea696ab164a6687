"""From a Run to Harbor's configuration."""

from pathlib import Path
from typing import Any

import pytest
from harbor.models.environment_type import EnvironmentType
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TrialConfig, VerifierConfig

from oddish.engine.config import (
    HANDLED_ELSEWHERE,
    LOCAL_ENVIRONMENT,
    MCP_SERVERS,
    OBSERVING_VERIFIER,
    SECTION_MEMBERS,
    SEEDING_AGENT,
    TRIAL_MEMBERS,
    refuse_reserved_variables,
    trial_config,
)
from oddish.engine.protocol import VERSION, Run
from oddish.errors import InvalidInput
from oddish.trials import passthrough


def run(**members: Any) -> Run:
    base = Run(
        type="run",
        version=VERSION,
        attempt="t-0.1-abc",
        task_dir="/tasks/t",
        trials_dir="/trials",
        trial_name="t-0.1-abc",
        agent="codex",
        model="openai/gpt",
        agent_kwargs={"version": "1"},
        agent_env={"A": "b"},
        environment="docker",
        environment_kwargs={},
        env={"OPENAI_API_KEY": "secret-value"},
        harbor={},
        deadline_sec=60.0,
    )
    return {**base, **members}  # type: ignore[typeddict-item]


def test_a_plain_run() -> None:
    config = trial_config(run())
    assert config.task.path == Path("/tasks/t")
    assert (config.trials_dir, config.trial_name) == (Path("/trials"), "t-0.1-abc")
    assert (config.agent.name, config.agent.import_path, config.agent.model_name) == ("codex", None, "openai/gpt")
    assert (config.agent.kwargs, config.agent.env) == ({"version": "1"}, {"A": "b"})
    assert (config.environment.type, config.environment.import_path) == (EnvironmentType.DOCKER, None)
    assert not config.verifier.disable


def test_the_secrets_of_the_child_are_not_in_the_configuration() -> None:
    assert "secret-value" not in repr(trial_config(run()))


def test_the_local_environment_is_ours_and_gets_the_scratch_directory() -> None:
    config = trial_config(run(environment="local", environment_kwargs={"x": 1}, scratch="/scratch"))
    assert (config.environment.type, config.environment.import_path) == (None, LOCAL_ENVIRONMENT)
    assert config.environment.kwargs == {"x": 1, "scratch": "/scratch"}


def test_import_paths() -> None:
    config = trial_config(run(environment="pkg.mod:Box", agent="pkg.mod:Agent"))
    assert (config.environment.import_path, config.agent.import_path, config.agent.name) == (
        "pkg.mod:Box",
        "pkg.mod:Agent",
        None,
    )
    assert trial_config(run(agent="acp:some-agent")).agent.name == "acp:some-agent"


def test_a_workspace_is_seeded_and_observed_by_our_own_classes() -> None:
    block = {"agent": {"override_setup_timeout_sec": 5}, "verifier": {"override_timeout_sec": 7}}
    config = trial_config(run(agent="nop", model=None, agent_kwargs={}, harbor=block, workspace="/seeds/a"))
    assert (config.agent.import_path, config.agent.kwargs) == (SEEDING_AGENT, {"workspace": "/seeds/a"})
    assert (config.verifier.import_path, config.verifier.kwargs) == (OBSERVING_VERIFIER, {"workspace": "/seeds/a"})
    assert (config.agent.override_setup_timeout_sec, config.verifier.override_timeout_sec) == (5, 7)


def test_a_workspace_is_not_for_an_agent() -> None:
    with pytest.raises(InvalidInput, match="'codex'"):
        trial_config(run(workspace="/seeds/a"))


def test_a_full_harbor_block() -> None:
    block = {
        "environment": {
            "override_cpus": 2,
            "override_memory_mb": 512,
            "override_gpus": 1,
            "override_storage_mb": 100,
            "force_build": True,
            "kwargs": {"auto_mounting": True, "both": "block"},
        },
        "verifier": {"disable": True, "max_timeout_sec": 5},
        "agent": {"override_timeout_sec": 7, "extra_allowed_hosts": ["example.org"]},
        "artifacts": ["/app/out", {"source": "/app/log", "destination": "log"}],
        "timeout_multiplier": 2,
        "agent_timeout_multiplier": 3,
        "extra_instructions": ["more"],
        "mcp_servers": [{"name": "m", "transport": "stdio", "command": "x"}],
        "retry": {"max_retries": 3},
        "source": "main",
        "ref": "abc",
    }
    config = trial_config(run(harbor=block, environment_kwargs={"both": "run"}))
    environment = config.environment
    assert (environment.override_cpus, environment.override_memory_mb, environment.override_gpus) == (2, 512, 1)
    assert (environment.override_storage_mb, environment.force_build) == (100, True)
    assert environment.kwargs == {"auto_mounting": True, "both": "run"}
    assert (config.verifier.disable, config.verifier.max_timeout_sec) == (True, 5)
    assert (config.agent.override_timeout_sec, config.agent.extra_allowed_hosts) == (7, ["example.org"])
    assert len(config.artifacts) == 2
    assert (config.timeout_multiplier, config.agent_timeout_multiplier) == (2, 3)
    assert config.agent.mcp_servers[0].name == "m"
    assert block["source"] == "main"


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"harbor": {"surprise": 1}}, "harbor.surprise"),
        ({"harbor": {"environment": {"import_path": "a:b"}}}, "harbor.environment.import_path"),
        ({"harbor": {"environment": {"delete": False}}}, "harbor.environment.delete"),
        ({"harbor": {"verifier": {"off": 1}}}, "harbor.verifier.off"),
        ({"harbor": {"agent": {"env": {}}}}, "harbor.agent.env"),
        ({"harbor": {"agent": []}, "model": None}, None),
        ({"harbor": {"agent": "x"}}, "harbor.agent is str"),
        ({"harbor": {"environment": {"override_memory_mb": "lots"}}}, "override_memory_mb"),
        ({"harbor": {"timeout_multiplier": "x"}}, "timeout_multiplier"),
        ({"environment": "moon"}, "'moon'"),
    ],
)
def test_what_is_not_accepted_is_named(members: dict[str, Any], words: str | None) -> None:
    if words is None:
        trial_config(run(**members))
        return
    with pytest.raises(InvalidInput, match=words):
        trial_config(run(**members))


def test_a_refusal_does_not_repeat_values() -> None:
    with pytest.raises(InvalidInput) as refused:
        trial_config(run(agent_env={"TOKEN": ["secret-value"]}))
    assert "secret-value" not in str(refused.value)


def test_every_accepted_member_exists_in_harbor() -> None:
    assert set(TrialConfig.model_fields) >= TRIAL_MEMBERS
    models = {"agent": AgentConfig, "environment": EnvironmentConfig, "verifier": VerifierConfig}
    for section, model in models.items():
        assert set(model.model_fields) >= SECTION_MEMBERS[section]


@pytest.mark.parametrize(
    "name", ["PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHON_X", "DOCKER_HOST", "HARBOR_TELEMETRY", "GIT_SSH_COMMAND"]
)
def test_variables_that_steer_the_worker_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        refuse_reserved_variables({"OPENAI_API_KEY": "x", name: "y"})


def test_credentials_are_accepted() -> None:
    refuse_reserved_variables(
        dict.fromkeys(["OPENAI_API_KEY", "GITHUB_TOKEN", "ANTHROPIC_BASE_URL", "AWS_REGION", "MY_PATH"], "x")
    )


def test_whatever_a_submission_may_pass_on_is_accepted() -> None:
    behind = passthrough.BEHIND_DOORS
    assert TRIAL_MEMBERS | {MCP_SERVERS} | HANDLED_ELSEWHERE >= passthrough.TRIAL | behind["harbor"].keys()
    for name, members in passthrough.SECTIONS.items():
        assert members | behind.get(f"harbor.{name}", {}).keys() <= SECTION_MEMBERS[name]
