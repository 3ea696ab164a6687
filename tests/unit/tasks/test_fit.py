"""What an environment can never give to a task is known from the task's definition."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from oddish.environments import read_environments
from oddish.tasks.definition import load_task, sandboxes
from oddish.tasks.fit import Finding, findings

ALLOWLIST = "network_mode = 'allowlist'\nallowed_hosts = ['example.org']\n"
SEPARATE = "[verifier]\nenvironment_mode = 'separate'\n"


def definition(directory: Path, toml: str = "", dockerfile: str = "FROM debian\n", **files: str) -> dict[str, Any]:
    """As an upload stores it."""
    contents = {
        "task.toml": toml,
        "instruction.md": "Do it.\n",
        "environment/Dockerfile": dockerfile,
        "tests/test.sh": "#!/bin/sh\n",
        "tests/test.bat": "",
        **files,
    }
    for name, content in contents.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(content)
    stored: dict[str, Any] = json.loads(json.dumps(sandboxes(load_task(directory))))
    return stored


def only(definition: Mapping[str, object], environment: str = "local") -> Finding:
    (found,) = findings(definition, environment)
    return found


@pytest.mark.parametrize(
    "toml",
    [
        "",
        "[environment]\nnetwork_mode = 'no-network'\n",
        "[environment]\nnetwork_mode = 'no-network'\n[agent]\nnetwork_mode = 'no-network'\n",
        f"{SEPARATE}network_mode = 'public'\n",
        "[environment]\ndocker_image = 'x'\n",
        "[environment]\ncpus = 2\nmemory_mb = 100\nstorage_mb = 100\n",
    ],
)
def test_ordinary_tasks_meet_no_obstacle(tmp_path: Path, toml: str) -> None:
    assert findings(definition(tmp_path, toml), "local") == []
    assert findings(definition(tmp_path, toml), "docker") == []


def test_a_definition_that_says_nothing_is_no_obstacle() -> None:
    for environment in read_environments():
        assert findings({}, environment) == []
        assert findings({"environment": {"gpus": 0}, "verifier_environments": None}, environment) == []


@pytest.mark.parametrize(
    ("toml", "files", "what", "where"),
    [
        ("", {"environment/docker-compose.yaml": ""}, "services", "environment/docker-compose.yaml"),
        ("[environment]\nos = 'windows'\n", {}, "Windows", 'environment.os = "windows"'),
        ("[environment]\ngpus = 2\n", {}, "GPUs", "environment.gpus = 2"),
        ("[environment]\ntpu = {type = 'v5e', topology = '2x4'}\n", {}, "TPUs", "environment.tpu"),
        (f"[environment]\n{ALLOWLIST}", {}, "list of allowed hosts", 'network_mode = "allowlist"'),
        (
            "[agent]\nnetwork_mode = 'no-network'\n",
            {},
            "network that changes between phases",
            "network_mode = no-network, public",
        ),
        (
            "[verifier]\nnetwork_mode = 'no-network'\n",
            {},
            "network that changes between phases",
            "network_mode = no-network, public",
        ),
        ("[verifier.environment]\ngpus = 1\n", {}, "GPUs", "verifier.environment.gpus = 1"),
        (SEPARATE, {"tests/docker-compose.yaml": ""}, "services", "tests/docker-compose.yaml"),
    ],
)
def test_what_the_local_sandbox_lacks_is_named_with_the_place_that_asks_for_it(
    tmp_path: Path, toml: str, files: dict[str, str], what: str, where: str
) -> None:
    found = only(definition(tmp_path, toml, **files))
    assert (found.what, found.where) == (what, where)
    assert found.why == f"The environment 'local' has no {what}."
    assert "-e docker" in found.fix or what == "TPUs"


def test_everything_that_is_lacking_is_found_and_each_once(tmp_path: Path) -> None:
    kept = definition(tmp_path, f"[environment]\ngpus = 1\n[agent]\n{ALLOWLIST}", "FROM a\nFROM b\n")
    assert [found.what for found in findings(kept, "local")] == [
        "GPUs",
        "list of allowed hosts",
        "network that changes between phases",
        "Dockerfile",
    ]
    twice = {"environment": {}, "verifier_environments": [{"gpus": 1}, {"gpus": 1}]}
    assert only(twice).where == "verifier.environment.gpus = 1"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("FROM b", "a second FROM"),
        ("COPY --from=builder /x /y", "COPY --from=builder"),
        ("ADD https://example.org/x /y", "ADD from 'https://example.org/x'"),
        ("RUN --mount=type=secret,id=token true", "RUN --mount=type=secret,id=token"),
        ("RUN --security=insecure true", "RUN --security=insecure"),
        ("COPY --chmod=u+x a b", "COPY --chmod=u+x"),
        ("ENV a=${b/c/d}", "ENV: "),
    ],
)
def test_a_line_that_only_an_engine_can_honour_is_named(tmp_path: Path, line: str, why: str) -> None:
    kept = definition(tmp_path, dockerfile=f"FROM a\nRUN true\n{line}\n")
    found = only(kept)
    assert found.where == "environment/Dockerfile line 3"
    assert found.why.startswith(f"The environment 'local' refuses it: {why}")
    assert "-e docker" in found.fix
    assert not found.everywhere
    assert findings(kept, "docker") == []


@pytest.mark.parametrize(
    ("dockerfile", "where"),
    [
        ("FROM a\nFETCH x\n", "environment/Dockerfile line 2"),
        ("RUN true\n", "environment/Dockerfile line 1"),
        ("# nothing\n", "environment/Dockerfile"),
        ("FROM a\nRUN <<EOF\ntrue\n", "environment/Dockerfile line 2"),
    ],
)
def test_a_dockerfile_that_nobody_can_build_is_refused_wherever_it_is_built(
    tmp_path: Path, dockerfile: str, where: str
) -> None:
    kept = definition(tmp_path, dockerfile=dockerfile)
    for environment in ("local", "docker", "daytona", "e2b"):
        found = only(kept, environment)
        assert (found.what, found.where) == ("Dockerfile", where)
        assert found.why.startswith("It cannot be built: ")
        assert found.everywhere
        assert found.fix
    assert findings(kept, "my.module:Box") == []


@pytest.mark.parametrize(
    ("toml", "dockerfile", "files"),
    [
        ("[environment]\ndocker_image = 'x'\n", "FROM a\nFETCH x\n", {}),
        ("", "FROM a\nFETCH x\n", {"environment/docker-compose.yaml": ""}),
        ("", "# syntax=example.org/frontend:1\nFROM a\nFETCH x\n", {}),
    ],
)
def test_an_engine_is_not_refused_a_dockerfile_that_it_may_not_read_so(
    tmp_path: Path, toml: str, dockerfile: str, files: dict[str, str]
) -> None:
    assert findings(definition(tmp_path, toml, dockerfile, **files), "docker") == []


def test_the_dockerfile_of_a_verifier_counts_too(tmp_path: Path) -> None:
    found = only(definition(tmp_path, SEPARATE, **{"tests/Dockerfile": "FROM a\nFROM b\n"}))
    assert found.where == "tests/Dockerfile line 2"


def test_a_dockerfile_too_long_to_keep_is_left_to_the_build(tmp_path: Path) -> None:
    kept = definition(tmp_path, dockerfile="FROM a\nFROM b\n" + "#" * 70_000)
    assert kept["environment"]["has_dockerfile"]
    assert findings(kept, "local") == []


def test_a_platform_of_other_workers_is_no_obstacle_here(tmp_path: Path) -> None:
    assert findings(definition(tmp_path, dockerfile="FROM --platform=linux/s390x a\n"), "local") == []


@pytest.mark.parametrize(
    ("environment", "asked", "where"),
    [
        ("e2b", {"gpus": 1}, "environment.gpus = 1"),
        ("runloop", {"gpus": 1}, "environment.gpus = 1"),
        ("modal", {"gpus": 1}, None),
        ("daytona", {"gpus": 1}, None),
        ("gke", {"gpus": 1}, None),
        ("gke", {"needs_tpu": True}, None),
        ("modal", {"needs_tpu": True}, "environment.tpu"),
        ("e2b", {"has_compose": True}, "environment/docker-compose.yaml"),
        ("runloop", {"has_compose": True}, "environment/docker-compose.yaml"),
        ("daytona", {"has_compose": True}, None),
        ("gke", {"network_mode": "no-network"}, 'network_mode = "no-network"'),
        ("gke", {"network_mode": "no-network", "has_compose": True}, None),
        ("ec2", {"network_mode": "allowlist"}, 'network_mode = "allowlist"'),
        ("daytona", {"network_mode": "allowlist"}, None),
        ("ec2", {"phase_network_modes": ["allowlist"]}, 'network_mode = "allowlist"'),
        ("islo", {"gpus": 1, "has_compose": True, "network_mode": "allowlist"}, None),
        ("my.module:Box", {"gpus": 1}, None),
    ],
)
def test_what_other_environments_lack_is_what_the_table_of_them_says(
    environment: str, asked: dict[str, object], where: str | None
) -> None:
    found = findings({"environment": asked}, environment)
    assert [entry.where for entry in found] == ([] if where is None else [where])


def test_the_fix_names_an_environment_that_has_what_is_lacking() -> None:
    assert "-e docker" in only({"environment": {"gpus": 1}}, "e2b").fix
    assert "-e gke" in only({"environment": {"needs_tpu": True}}, "docker").fix


def test_judging_loads_nothing_of_the_sandbox_but_the_reading_of_dockerfiles() -> None:
    show = "import sys, oddish.tasks.fit; print(*(name for name in sys.modules if name.startswith('oddish.sandbox.')))"
    loaded = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True).stdout.split()
    assert {name.rpartition(".")[2] for name in loaded} == {
        "dockerfile",
        "durations",
        "plan",
        "platforms",
        "spec",
        "variables",
    }
