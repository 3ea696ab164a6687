"""What a job's trials are, from its request."""

import pytest

from oddish.gateway.plans import VERIFIER, fixture, plans

ARCHIVE = {"task_archive_url": "https://storage.example/task.zip"}


def asked(extensions: dict[str, object], pass_at_k: int = 1) -> dict[str, object]:
    agent = {"name": "a", "harbor_agent": "codex", "model": "openai/gpt-5", "harbor_extensions": extensions}
    return {"metadata": ARCHIVE, "agents": [agent], "pass_at_k": pass_at_k}


@pytest.mark.parametrize(
    ("pass_at_k", "asked_for", "at_once"), [(1, None, 1), (8, None, 8), (40, None, 16), (40, 2, 2), (1, 5, 5)]
)
def test_sixteen_of_the_trials_run_at_once_unless_asked_otherwise(
    pass_at_k: int, asked_for: int | None, at_once: int
) -> None:
    [plan] = plans("execute", asked({"n_concurrent": asked_for}, pass_at_k))
    assert (plan.config.n_trials, plan.max_running) == (pass_at_k, at_once)


def test_extensions_of_an_agent_reach_its_trials() -> None:
    harbor = {"environment": {"override_memory_mb": 512}}
    [plan] = plans(
        "execute",
        asked(
            {
                "agent_env": {"FOO": "bar"},
                "kwargs": {"effort": "high"},
                "override_timeout_sec": 60.0,
                "max_timeout_sec": None,
                "environment": "docker",
                "harbor": harbor,
            }
        ),
    )
    config = plan.config
    assert (plan.agent, config.agent, config.model, config.environment) == ("a", "codex", "openai/gpt-5", "docker")
    assert (config.env, config.kwargs) == ({"FOO": "bar"}, {"effort": "high"})
    assert (config.overrides, plan.harbor) == ({"override_timeout_sec": 60.0}, harbor)


def test_a_verification_has_no_agent() -> None:
    request = {"metadata": ARCHIVE, "repeats": 3, "environment": None, "workspace_fixture_url": None}
    [plan] = plans("verify", request)
    assert (plan.agent, plan.config.agent, plan.config.n_trials) == (VERIFIER, "nop", 3)
    assert fixture(request) is None
