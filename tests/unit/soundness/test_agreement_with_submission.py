"""``oddish check`` and a submission say the same of every task in every environment."""

import itertools
import json
import random
from pathlib import Path

import pytest

from oddish.environments import read_environments
from oddish.soundness.parts import ENVIRONMENT
from oddish.soundness.review import Review, review
from oddish.tasks.definition import load_task, sandboxes
from oddish.trials.catalogue import Catalogue, Offer
from oddish.trials.doors import ALL
from oddish.trials.environments import Environments
from oddish.trials.units import TrialConfig, UnfitTask, unit

ENVIRONMENTS = ("local", "docker", "daytona", "e2b", "gke", "modal", "islo", "boxes:Box")
SAMPLE = 40
OPTIONS: dict[str, tuple[str, ...]] = {
    "environment": (
        "",
        "gpus = 1",
        "gpus = 0",
        "tpu = {type = 'v5e', topology = '2x4'}",
        "os = 'windows'",
        "docker_image = 'x'",
        "network_mode = 'no-network'",
        "network_mode = 'allowlist'\nallowed_hosts = ['example.org']",
        "gpus = 2\nnetwork_mode = 'no-network'",
    ),
    "agent": ("", "network_mode = 'no-network'", "network_mode = 'public'"),
    "verifier": ("", "environment_mode = 'separate'", "network_mode = 'no-network'"),
    "verifier.environment": ("", "gpus = 1"),
}
DOCKERFILES = (
    "FROM scratch\n",
    "FROM a\nFROM b\n",
    "FROM a\nFETCH x\n",
    "FROM --platform=linux/s390x scratch\n",
    "FROM a\nADD https://example.org/x /y\n",
    "# syntax=example.org/other:1\nFROM scratch\nFETCH x\n",
    "",
)
COMPOSE = ((), ("environment/docker-compose.yaml",), ("tests/docker-compose.yaml",))

type Case = tuple[tuple[str, ...], str, tuple[str, ...]]


def written(directory: Path, tables: tuple[str, ...], dockerfile: str, compose: tuple[str, ...]) -> Path:
    toml = "".join(f"[{name}]\n{body}\n" for name, body in zip(OPTIONS, tables, strict=True) if body)
    files = {
        "task.toml": toml,
        "instruction.md": "Do it.\n",
        "environment/Dockerfile": dockerfile,
        "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
        "tests/test.bat": "",
        **dict.fromkeys(compose, "services: {}\n"),
    }
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(content)
    return directory


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Each value alone, and a part of all combinations, the same in every run."""
    usual = (("",) * len(OPTIONS), DOCKERFILES[0], COMPOSE[0])
    combinations = [*itertools.product(itertools.product(*OPTIONS.values()), DOCKERFILES, COMPOSE)]
    chosen = [
        *(case for case in combinations if _differences(case, usual) <= 1),
        *random.Random(0).sample(combinations, SAMPLE),
    ]
    root = tmp_path_factory.mktemp("tasks")
    return [written(root / f"task-{number}", *case) for number, case in enumerate(chosen)]


def _differences(case: Case, usual: Case) -> int:
    return sum(mine != other for mine, other in zip((*case[0], *case[1:]), (*usual[0], *usual[1:]), strict=True))


def refused(task: Path, environment: str) -> str | None:
    """What a submission answers; the fix depends on what is offered there."""
    facts = read_environments().get(environment)
    kwargs = dict.fromkeys(facts["required"], "x") if facts else {}
    offer = Offer(f"{environment}@1", environment, {"nop": False}, 2048)
    made = unit(
        TrialConfig("nop", None, 1, environment=environment),
        Catalogue([offer]),
        inherited_environment=None,
        harbor={"environment": {"kwargs": kwargs}},
        doors=ALL,
        environments=Environments(enabled=(environment,)),
    )
    try:
        made.check_task(json.loads(json.dumps(sandboxes(load_task(task)))))
    except UnfitTask as error:
        return error.message
    return None


def shown(found: Review, level: str) -> list[str]:
    """What check says of the environment."""
    return [check.found for check in found.checks if (check.name, check.level) == (ENVIRONMENT, level)]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_what_a_submission_refuses_check_shows_as_failed_and_nothing_else(tasks: list[Path], environment: str) -> None:
    answers = [refused(task, environment) for task in tasks]
    for task, found, answer in zip(tasks, review(tasks, environment), answers, strict=True):
        failures = shown(found, "failed")
        assert failures[:1] == ([] if answer is None else [answer]), (task / "task.toml").read_text()
        assert found.sendable == (answer is None)
    assert any(answers) == (environment in read_environments())
    assert not all(answers)


def test_where_the_server_decides_check_warns_of_what_local_refuses(tasks: list[Path]) -> None:
    for task, found in zip(tasks, review(tasks), strict=True):
        answer = refused(task, "local")
        said = [*shown(found, "failed"), *shown(found, "warning")]
        assert said == [] if answer is None else answer in said
