"""Our Docker environment under Harbor's name."""

import importlib.metadata
import inspect
from pathlib import Path

import pytest
from harbor.environments import factory
from harbor.environments.docker.docker import DockerEnvironment
from harbor.environments.factory import EnvironmentFactory
from harbor.models.environment_type import EnvironmentType
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths

from oddish.engine.containers import attempt_prefix, project_name
from oddish.engine.environments.docker import PromptDockerEnvironment
from oddish.engine.environments.docker_commands import Exec, parse_exec, promptly, service_of_path, without_values
from oddish.engine.environments.docker_images import base_of, blames_definition, content_key, readable
from oddish.engine.environments.registry import docker_is_ours, use_our_docker


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "_ENVIRONMENT_REGISTRY", dict(factory._ENVIRONMENT_REGISTRY))


def test_docker_is_ours_after_registration() -> None:
    assert EnvironmentFactory.get_environment_class(EnvironmentType.DOCKER) is DockerEnvironment
    assert not docker_is_ours()
    use_our_docker()
    assert docker_is_ours()
    assert EnvironmentFactory.get_environment_class(EnvironmentType.DOCKER) is PromptDockerEnvironment
    assert PromptDockerEnvironment.type() == DockerEnvironment.type()


def test_another_harbor_runs_its_own_docker_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "0.31.2")
    use_our_docker()
    assert not docker_is_ours()


def test_harbor_still_runs_compose_where_we_look() -> None:
    assert next(iter(inspect.signature(DockerEnvironment._run_docker_compose_command).parameters)) == "self"
    assert '_run_docker_compose_command(["down"])' in inspect.getsource(DockerEnvironment.stop)


@pytest.mark.parametrize("services", [True, False])
def test_variables_of_a_task_do_not_steer_the_docker_program(
    services: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LD_PRELOAD", "DOCKER_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/bin-of-the-worker")
    (tmp_path / "docker-compose.yaml" if services else tmp_path / "Dockerfile").write_text("FROM x\n")
    trial = TrialPaths(trial_dir=tmp_path / "trial")
    trial.mkdir()
    environment = PromptDockerEnvironment(
        environment_dir=tmp_path,
        environment_name="task",
        session_id="t-0__env",
        trial_paths=trial,
        task_env_config=EnvironmentConfig(env={"LD_PRELOAD": "/task/evil.so", "PATH": "/task", "LEVEL": "debug"}),
        persistent_env={"DOCKER_HOST": "tcp://elsewhere", "NAME": "value"},
    )
    variables = environment._compose_env_vars(include_os_env=True)
    assert (variables["LEVEL"], variables["NAME"], variables["PATH"]) == ("debug", "value", "/bin-of-the-worker")
    assert not {"LD_PRELOAD", "DOCKER_HOST"} & variables.keys()
    assert not {"LD_PRELOAD", "DOCKER_HOST", "PATH"} & environment._compose_env_vars(include_os_env=False).keys()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["down", "--rmi", "local"], ["down", "--timeout", "0", "--rmi", "local"]),
        (["stop", "main"], ["stop", "--timeout", "0", "main"]),
        (["exec", "main", "down"], ["exec", "main", "down"]),
        (["build"], ["build"]),
    ],
)
def test_only_stopping_changes(command: list[str], expected: list[str]) -> None:
    assert promptly(command) == expected


def test_a_command_of_compose_is_read_as_harbor_writes_it() -> None:
    arguments = ["-T", "-w", "/app", "-e", "A=1=2", "-e", "EMPTY=", "-u", "root", "main", "bash", "-c", "echo -u x"]
    expected = Exec("main", ("-w", "/app", "-u", "root"), {"A": "1=2", "EMPTY": ""}, ("bash", "-c", "echo -u x"))
    assert parse_exec(arguments) == expected


@pytest.mark.parametrize("name", ["GIT_TOKEN", "HARBOR_API_KEY", "DOCKER_PASSWORD", "ODDISH_SECRET"])
def test_no_secret_is_written_out_because_of_how_its_name_begins(name: str) -> None:
    assert without_values({name: "secret"}) == (["--env", name], {name: "secret"})


def test_values_of_variables_are_not_among_the_arguments_of_the_program() -> None:
    options, variables = without_values({"API_KEY": "secret", "PATH": "/opt/bin"})
    assert options == ["--env", "API_KEY", "--env", "PATH=/opt/bin"]
    assert variables == {"API_KEY": "secret"}


@pytest.mark.parametrize(
    ("argument", "service"), [("main:/logs/.", "main"), ("/tmp/a:b", None), ("plain", None), ("db:/x", "db")]
)
def test_paths_in_a_container_name_its_service(argument: str, service: str | None) -> None:
    assert service_of_path(argument) == service


@pytest.mark.parametrize(
    ("dockerfile", "base"),
    [
        ("FROM ubuntu:24.04\nRUN true\n", "ubuntu:24.04"),
        ("# FROM a\nfrom --platform=linux/amd64 debian as last\n", "debian"),
        ("FROM golang:1 AS build\nFROM debian:12\nCOPY --from=build /a /a\n", "debian:12"),
        ("FROM debian:12 AS common\nFROM common AS final\nFROM final\n", "debian:12"),
        ("ARG BASE=x\nFROM ${BASE}\n", None),
        ("FROM scratch\n", None),
        ("RUN true\n", None),
    ],
)
def test_the_last_stage_stands_on_an_image_from_outside(dockerfile: str, base: str | None) -> None:
    assert base_of(dockerfile) == base


@pytest.mark.parametrize(
    ("output", "blamed"),
    [
        ("ERROR: failed to solve: executor failed running [/bin/sh -c false]: exit code: 1", True),
        ("RUN curl: (28) i/o timeout\nfailed: process did not complete successfully: exit code: 28", True),
        ("failed to compute cache key: /missing: not found", True),
        ("pull access denied for nothing, repository does not exist", True),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", False),
        ("toomanyrequests: You have reached your pull rate limit", False),
        ("failed to resolve source metadata: net/http: TLS handshake timeout", False),
        ("write /var/lib/docker/tmp/x: no space left on device", False),
        ("unexpected status from HEAD request: 503 Service Unavailable", False),
    ],
)
def test_a_failed_build_is_blamed_on_the_definition_unless_the_engine_or_a_registry_failed(
    output: str, blamed: bool
) -> None:
    assert blames_definition(output) is blamed


def test_the_output_of_a_build_is_shown_without_colours_from_its_end() -> None:
    assert readable("\x1b[31mred\x1b[0m\n") == "red"
    assert readable("x" * 9000 + "end").endswith("end")
    assert len(readable("x" * 9000)) == 8000


def test_the_identity_of_a_build_context_is_its_content(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM debian\n")
    (tmp_path / "run.sh").write_text("true\n")
    seen = {content_key(tmp_path)}
    (tmp_path / "run.sh").chmod(0o755)
    seen.add(content_key(tmp_path))
    (tmp_path / "run.sh").write_text("false\n")
    seen.add(content_key(tmp_path))
    (tmp_path / "link").symlink_to("run.sh")
    seen.add(content_key(tmp_path))
    assert len(seen) == 4
    assert content_key(tmp_path) in seen


def test_the_projects_of_one_attempt_begin_alike_and_like_those_of_no_other() -> None:
    own = project_name("0a1b2c3d", "hello-world-1a2b3c4d-1.1-99aabbcc", "env")
    assert own == "oddish-0a1b2c3d-hello-world-1a2b3c4d-1-1-99aabbcc__env"
    assert own.startswith(attempt_prefix("0a1b2c3d", "hello-world-1a2b3c4d-1.1-99aabbcc"))
    assert not own.startswith(attempt_prefix("0a1b2c3d", "hello-world-1a2b3c4d-1.1-99aabbc"))
