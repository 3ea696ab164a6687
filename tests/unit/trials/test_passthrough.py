"""What of the worker a submission cannot reach outside local mode."""

from typing import Any

import pytest

from oddish.trials.doors import NONE, ClosedPassthrough
from oddish.trials.passthrough import check_kwargs, check_worker_files


@pytest.mark.parametrize(
    "kwargs",
    [
        {"config": "/etc/passwd"},
        {"llm_config": "settings.json"},
        {"memory_dir": "/root"},
        {"prompt_template_path": "/etc/shadow"},
        {"skills_files": []},
        {"mounts_json": "[]"},
    ],
)
def test_arguments_that_name_files_are_closed(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ClosedPassthrough, match=f"agent_config.kwargs.{next(iter(kwargs))}"):
        check_kwargs("agent_config.kwargs", kwargs, NONE)


@pytest.mark.parametrize(
    "kwargs", [{"config": {"features": {}}}, {"skip_install": True}, {"max_turns": 3}, {"reasoning_effort": "high"}]
)
def test_other_arguments_are_passed_on(kwargs: dict[str, Any]) -> None:
    check_kwargs("agent_config.kwargs", kwargs, NONE)


def test_variables_that_hand_out_logins_of_the_worker_are_closed() -> None:
    with pytest.raises(ClosedPassthrough, match=r"credentials\.CODEX_FORCE_AUTH_JSON"):
        check_worker_files("credentials", ["OPENAI_API_KEY", "CODEX_FORCE_AUTH_JSON"], NONE)
    check_worker_files("credentials", ["OPENAI_API_KEY"], NONE)
