"""Time limits that Harbor accepts and no trial can be run with are refused by key and value."""

from pathlib import Path

import pytest

from oddish.errors import InvalidTask
from oddish.tasks.definition import load_task
from oddish.tasks.timeouts import check_timeouts
from unit.tasks.trees import TASK, plant


def check(tmp_path: Path, config: str) -> None:
    tree = {**TASK, "task.toml": config, "steps/one/instruction.md": "1"}
    check_timeouts(load_task(plant(tmp_path / "task", tree)).timeouts)


@pytest.mark.parametrize("value", ["0", "-5", "nan", "inf", "-inf", "'-1'"])
@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("[agent]", "agent.timeout_sec"),
        ("[verifier]", "verifier.timeout_sec"),
        ("[environment]", "environment.build_timeout_sec"),
        ("[environment.healthcheck]\ncommand = 'x'", "environment.healthcheck.timeout_sec"),
        ("[verifier.environment]\ndocker_image = 'x'", "verifier.environment.build_timeout_sec"),
        ("[[verifier.collect]]\ncommand = 'x'", "verifier.collect[0].timeout_sec"),
        ("[[steps]]\nname = 'one'\n[steps.agent]", "steps[0].agent.timeout_sec"),
        ("[[steps]]\nname = 'one'\n[steps.verifier]", "steps[0].verifier.timeout_sec"),
    ],
)
def test_a_time_limit_that_is_none(tmp_path: Path, table: str, key: str, value: str) -> None:
    with pytest.raises(InvalidTask) as refusal:
        check(tmp_path, f"{table}\n{key.rpartition('.')[2]} = {value}\n")
    assert key in refusal.value.message
    assert value.strip("'") in refusal.value.message
    assert refusal.value.fix


@pytest.mark.parametrize("config", ["", "[agent]\ntimeout_sec = 0.5\n", "[metadata]\ntimeout_sec = 0\n"])
def test_everything_else_passes(tmp_path: Path, config: str) -> None:
    check(tmp_path, config)
