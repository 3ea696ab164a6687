"""What a run is warned about before anything is sent."""

import time
from pathlib import Path

import pytest

from oddish.soundness import glance
from oddish.soundness.verdict import Check
from oddish.tasks.definition import load_task
from oddish.tasks.package import publish_set

SOUND = {
    "task.toml": 'schema_version = "1.4"\n[agent]\ntimeout_sec = 60.0\n',
    "instruction.md": "Say hello.\n",
    "environment/Dockerfile": "FROM debian:12\n",
    "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
    "solution/solve.sh": "echo hello\n",
}


def task(directory: Path, **changes: str | None) -> Path:
    for path, content in (SOUND | changes).items():
        if content is not None:
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_bytes(content.encode())
    return directory


def flaws(directory: Path, agent: str) -> list[Check]:
    return glance.glance(load_task(directory), publish_set(directory), agent)


@pytest.mark.parametrize("agent", ["oracle", "claude-code"])
def test_nothing_is_said_of_a_sound_task(tmp_path: Path, agent: str) -> None:
    assert flaws(task(tmp_path), agent) == []


@pytest.mark.parametrize(
    ("changes", "agent", "expected"),
    [
        ({"task.toml": SOUND["task.toml"] + "timeout_secs = 5\n"}, "oracle", ("keys", "agent.timeout_secs")),
        ({"instruction.md": " \n"}, "claude-code", ("instruction", "instruction.md is empty")),
        ({"solution/solve.sh": None}, "oracle", ("solution", "solve.sh is missing")),
        ({"tests/test.sh": "echo 1\r\necho 2\r\n"}, "oracle", ("scripts", "tests/test.sh")),
    ],
)
def test_a_doubt_is_a_warning(
    tmp_path: Path, changes: dict[str, str | None], agent: str, expected: tuple[str, str]
) -> None:
    (found,) = flaws(task(tmp_path, **changes), agent)
    assert (found.level, found.name) == ("warning", expected[0])
    assert expected[1] in found.found
    assert found.fix


def test_a_solution_matters_to_the_oracle_alone_and_the_instruction_to_the_others(tmp_path: Path) -> None:
    assert flaws(task(tmp_path / "a", **{"solution/solve.sh": None}), "claude-code") == []
    assert flaws(task(tmp_path / "b", **{"instruction.md": " "}), "oracle") == []


def test_a_task_without_an_environment_cannot_start(tmp_path: Path) -> None:
    (found,) = flaws(task(tmp_path, **{"environment/Dockerfile": None, "environment/README": ""}), "oracle")
    assert (found.level, found.name) == ("failed", "environment")


def test_a_glance_at_a_task_of_many_files_is_short(tmp_path: Path) -> None:
    task(tmp_path, **{f"tests/data/{index}.txt": "line\n" * 200 for index in range(200)})
    definition, published = load_task(tmp_path), publish_set(tmp_path)
    began = time.process_time()
    for _ in range(5):
        assert glance.glance(definition, published, "oracle") == []
    assert (time.process_time() - began) / 5 < 0.05
