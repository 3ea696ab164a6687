"""What ``load_task`` reads from a task and how it words what is wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

import oddish
from oddish.errors import InvalidInput, InvalidTask, NotFound
from oddish.tasks.definition import load_task, task_name
from oddish.tasks.discovery import discover, is_task
from unit.tasks.trees import TASK, Content, Link, plant

FULL = """
schema_version = "1.4"
[task]
name = "acme/sum-up"
description = "Adds numbers."
keywords = ["math"]
[agent]
timeout_sec = 90
network_mode = "no-network"
[verifier]
timeout_sec = 30.5
env = { JUDGE_KEY = "${JUDGE_KEY}", LEVEL = "${LEVEL:-1}", PLAIN = "x" }
[environment]
os = "Linux"
cpus = 2.0
memory = "2G"
storage_mb = "512"
gpus = 1
gpu_types = ["T4"]
allow_internet = true
build_timeout_sec = 60
future_key = "ignored"
[[environment.mcp_servers]]
name = "tools"
url = "http://tools"
headers = { Authorization = "Bearer ${MCP_TOKEN}" }
[solution.env]
SEED = "${SEED}"
"""


def test_a_full_definition(tmp_path: Path) -> None:
    task = load_task(plant(tmp_path / "Sum up (v2)", {**TASK, "task.toml": FULL, "trajectory.json": "{}"}))
    assert task.name == "Sum-up-v2"
    assert task.declared_name == "acme/sum-up"
    assert (task.description, task.keywords) == ("Adds numbers.", ("math",))
    assert (task.agent_timeout_sec, task.verifier_timeout_sec) == (90, 30.5)
    environment = task.environment
    assert (environment.cpus, environment.memory_mb, environment.storage_mb) == (2, 2048, 512)
    assert (environment.gpus, environment.gpu_types, environment.needs_tpu) == (1, ("T4",), False)
    assert (environment.os, environment.network_mode, environment.build_timeout_sec) == ("linux", "public", 60)
    assert (environment.docker_image, environment.has_dockerfile, environment.has_compose) == (None, True, False)
    assert task.agent_network_modes == ("no-network",)
    assert task.has_solution
    assert [(variable.name, variable.section, variable.required) for variable in task.variables] == [
        ("MCP_TOKEN", "environment.mcp_servers[0].headers", True),
        ("JUDGE_KEY", "verifier.env", True),
        ("LEVEL", "verifier.env", False),
        ("SEED", "solution.env", True),
    ]


def test_a_task_with_steps(tmp_path: Path) -> None:
    config = '[[steps]]\nname = "one"\nagent.timeout_sec = 5\n[[steps]]\nname = "two"\nverifier.timeout_sec = 7\n'
    tree = {**TASK, "task.toml": config, "steps/one/instruction.md": "1", "steps/two/instruction.md": "2"}
    del tree["instruction.md"]
    task = load_task(plant(tmp_path / "task", tree))
    assert [(step.name, step.agent_timeout_sec, step.verifier_timeout_sec) for step in task.steps] == [
        ("one", 5, None),
        ("two", None, 7),
    ]
    assert task.agent_network_modes == ("public", "public")


@pytest.mark.parametrize(
    ("config", "modes"),
    [
        ("", ("public",)),
        ("environment.allow_internet = false", ("no-network",)),
        ('environment.network_mode = "no-network"\nagent.network_mode = "public"', ("public",)),
        (
            'agent.network_mode = "allowlist"\n[[steps]]\nname = "one"\n'
            '[[steps]]\nname = "two"\nagent.network_mode = "no-network"',
            ("allowlist", "no-network"),
        ),
    ],
)
def test_how_far_the_agent_reaches_in_each_step(tmp_path: Path, config: str, modes: tuple[str, ...]) -> None:
    tree = {**TASK, "task.toml": config, "steps/one/instruction.md": "1", "steps/two/instruction.md": "2"}
    assert load_task(plant(tmp_path / "task", tree)).agent_network_modes == modes


MISSING = object()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task.toml": MISSING}, ["task.toml is missing", "Every task directory"]),
        ({"task.toml": "a = 1\n[x\n"}, ["task.toml is not valid TOML", "line 2, column 3"]),
        ({"task.toml": b"\xff"}, ["not UTF-8", "byte 0"]),
        ({"task.toml": "x = " + "[" * 5000}, ["nests its values too deeply"]),
        ({"task.toml": "#" + "x" * 2_000_000}, ["larger than 1048576 bytes"]),
        ({"task.toml": "[agent]\ntimeout_sec = 'soon'"}, ["agent.timeout_sec must be a number", '"soon"']),
        ({"task.toml": "agent = 3"}, ["agent must be a table, not 3"]),
        ({"task.toml": "[environment]\ncpus = [1]"}, ["environment.cpus must be a number, not [1]"]),
        ({"task.toml": "[environment]\nnetwork_mode = 'off'"}, ['"public", "no-network", "allowlist"', '"off"']),
        ({"task.toml": "[environment]\nmemory = '2X'"}, ["environment.memory must be a size", '"2X"']),
        ({"task.toml": "[task]\nname = 'x'"}, ["task.name must look like", '"x"']),
        ({"task.toml": "[[steps]]\nname = '../x'"}, ["steps[0].name must be a directory name", '"../x"']),
        ({"task.toml": "[[steps]]\nname = 'one'"}, ["steps/one/ is missing", "remove the step"]),
        ({"task.toml": "[[steps]]\nname = 'one'", "steps/one/x": ""}, ["steps/one/instruction.md is missing"]),
        ({"instruction.md": MISSING}, ["instruction.md is missing"]),
        ({"instruction.md": b"\xff\xfe"}, ["instruction.md is not UTF-8"]),
        ({"environment/Dockerfile": MISSING}, ["environment/ is missing", "docker_image under [environment]"]),
        ({"tests/test.sh": MISSING}, ["tests/test.sh is missing"]),
        ({"tests/test.sh": MISSING, "tests/test.bat": ""}, ["only tests/test.bat is there", 'os = "windows"']),
        ({"tests/.harborignore": "*.sh\n"}, ["tests/test.sh is excluded by .harborignore"]),
        ({"tests/.harborignore": "a\\\n"}, ["tests/.harborignore, line 1", "escapes nothing"]),
        ({"tests/data": Link("/etc")}, ["tests/data is a symbolic link out of the task (to /etc)"]),
        ({"solution/up": Link("..")}, ["solution/up/solution is a symbolic link to a directory that contains it"]),
        ({"tests/loop": Link("loop")}, ["tests/loop is a symbolic link that leads to itself"]),
    ],
)
def test_refusals_name_the_file_the_reason_and_the_fix(
    tmp_path: Path, changes: dict[str, object], words: list[str]
) -> None:
    tree: dict[str, Content] = {**TASK, **changes}  # type: ignore[dict-item]
    present = {name: content for name, content in tree.items() if content is not MISSING}
    with pytest.raises(InvalidTask) as refused:
        load_task(plant(tmp_path / "task", present))
    for word in words:
        assert word in str(refused.value)
    assert refused.value.fix


def test_a_task_without_tests_loads_when_verification_is_disabled(tmp_path: Path) -> None:
    tree = {name: content for name, content in TASK.items() if not name.startswith("tests")}
    assert load_task(plant(tmp_path / "task", tree), disable_verification=True).name == "task"


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("hello-world", "hello-world"),
        ("Hello World", "Hello-World"),
        ("../x/..", "x"),
        ("naïve task №1", "naive-task-No1"),
        (".hidden", "hidden"),
        ("a" * 300, "a" * 255),
    ],
)
def test_names_become_safe(raw: str, name: str) -> None:
    assert task_name(raw) == name


def test_a_name_of_which_nothing_is_left_is_refused() -> None:
    with pytest.raises(InvalidInput, match="日本"):
        task_name("日本")


def test_discovery(tmp_path: Path) -> None:
    dataset = tmp_path / "dataset"
    second = plant(dataset / "b", TASK)
    first = plant(dataset / "a", {"task.toml": "broken"})
    plant(dataset, {"README.md": "", "notes/x": ""})
    assert discover(second) == [second]
    assert discover(dataset) == [first, second]
    assert is_task(first)
    with pytest.raises(InvalidTask):
        load_task(first)


def test_discovery_says_why_there_is_nothing(tmp_path: Path) -> None:
    plant(tmp_path, {"file": "", "empty": None})
    with pytest.raises(NotFound, match="does not exist"):
        discover(tmp_path / "absent")
    with pytest.raises(InvalidInput, match="is a file"):
        discover(tmp_path / "file")
    with pytest.raises(InvalidInput, match="holds no task"):
        discover(tmp_path / "empty")


def test_the_modules_need_the_standard_library_only() -> None:
    sources = str(Path(oddish.__file__).parents[1])
    modules = "oddish.tasks.definition, oddish.tasks.discovery, oddish.tasks.package, oddish.tasks.archive"
    code = f"import sys; sys.path.insert(0, {sources!r}); import {modules}"
    # -S leaves out site-packages, so that anything else cannot be found.
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
