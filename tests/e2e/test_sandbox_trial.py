"""Harbor's own trials in the local environment, through its contract and nothing else."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from harbor.environments.base import HealthcheckError, SandboxBuildFailedError
from harbor.environments.factory import EnvironmentFactory
from harbor.models.task.config import HealthcheckConfig, NetworkMode, NetworkPolicy
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, ServiceVolumeConfig, TaskConfig, TrialConfig
from harbor.models.trial.result import TrialResult
from harbor.trial.trial import Trial

from oddish.errors import InvalidTask, Unavailable
from oddish.sandbox import host
from oddish.sandbox.failures import CommandFailed
from support.sandbox_environments import StartEnvironment, environments
from support.sandbox_kit import NOTHING, names, traces

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:Task.checksum will be deprecated:DeprecationWarning:harbor"),
]

IMPORT_PATH = "oddish.engine.environments.local:LocalEnvironment"
root_only = pytest.mark.skipif(not host.privileged(), reason="the system is read-only without privileges")
type RunTrial = Callable[..., Coroutine[Any, Any, TrialResult]]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


@pytest.fixture
def run_trial(tmp_path: Path, scratch: Path) -> RunTrial:
    async def run(task: Path, name: str = "trial", **environment: Any) -> TrialResult:
        config = TrialConfig(
            task=TaskConfig(path=task),
            trial_name=name,
            trials_dir=tmp_path / "trials",
            agent=AgentConfig(name="oracle"),
            environment=EnvironmentConfig(
                import_path=IMPORT_PATH, kwargs={"scratch": str(scratch)} | environment.pop("kwargs", {}), **environment
            ),
        )
        return await (await Trial.create(config)).run()

    return run


@pytest.fixture
async def start(tmp_path: Path, scratch: Path) -> AsyncIterator[StartEnvironment]:
    async with environments(tmp_path, scratch) as start:
        yield start


def reward(result: TrialResult) -> object:
    assert result.exception_info is None, result.exception_info
    assert result.verifier_result
    assert result.verifier_result.rewards
    return result.verifier_result.rewards["reward"]


async def test_the_oracle_solves_a_task_quickly_and_leaves_nothing(
    run_trial: RunTrial, make_task: Callable[..., Path], scratch: Path
) -> None:
    task = make_task(
        "greeting",
        solve="pwd; echo hello > greeting.txt",
        test="grep -q hello /app/greeting.txt && echo 1 > /logs/verifier/reward.txt",
    )
    begun = time.monotonic()
    assert reward(await run_trial(task, "quick-trial")) == 1
    assert time.monotonic() - begun < 5
    assert traces("quick-trial", scratch) == NOTHING
    assert names(scratch) == []


async def test_harbor_alone_finds_the_environment_usable() -> None:
    EnvironmentFactory.run_preflight(type=None, import_path=IMPORT_PATH, kwargs={})


async def test_eight_trials_at_once(run_trial: RunTrial, make_task: Callable[..., Path], scratch: Path) -> None:
    task = make_task("many", solve="echo x > /app/x", test="test -f /app/x && echo 1 > /logs/verifier/reward.txt")
    results = await asyncio.gather(*(run_trial(task, f"many-{number}") for number in range(8)))
    assert [reward(result) for result in results] == [1] * 8
    assert names(scratch) == []


async def test_logs_can_be_mounted(run_trial: RunTrial, make_task: Callable[..., Path], tmp_path: Path) -> None:
    task = make_task("mounted", solve="echo note > /logs/agent/note")
    assert reward(await run_trial(task, "mounted", kwargs={"auto_mounting": True})) == 1
    assert (tmp_path / "trials" / "mounted" / "agent" / "note").read_text() == "note\n"


async def test_a_failing_build_names_its_line_and_output(run_trial: RunTrial, make_task: Callable[..., Path]) -> None:
    task = make_task("broken", solve="true")
    (task / "environment" / "Dockerfile").write_text("FROM debian\nRUN echo almost && exit 3\n")
    result = await run_trial(task)
    assert result.exception_info
    assert result.exception_info.exception_type == SandboxBuildFailedError.__name__
    assert "line 2: RUN ended with code 3" in result.exception_info.exception_message
    assert "in place of debian; -e docker uses the image.\nalmost" in result.exception_info.exception_message


@root_only
@pytest.mark.parametrize("force_build", [False, True])
@pytest.mark.parametrize(
    ("steps", "named"),
    [
        ("RUN rm -f /usr/bin/sh /bin/sh", "After the Dockerfile's last step"),
        ("RUN rm -f /usr/bin/sh /bin/sh\nRUN true", "line 3: a command cannot start"),
        ("RUN rm -f /usr/bin/sh /bin/sh\nWORKDIR /made", "line 3: a command cannot start"),
        ("RUN rm -f /usr/bin/sh /bin/sh\nCOPY Dockerfile /made/", "line 3: a command cannot start"),
        ("RUN rm -f /usr/bin/tar /usr/bin/sleep", "without sleep, tar"),
        ("RUN rm -f /usr/bin/bash", "No command can start"),
        ("USER nobody-of-that-name\nRUN true", "line 3: There is no user 'nobody-of-that-name'"),
        ("RUN true\nUSER nobody-of-that-name", "no user 'nobody-of-that-name'"),
        ("RUN true\nUSER 99999999999", "99999999999"),
    ],
)
async def test_an_environment_that_its_dockerfile_broke_is_a_failed_build(
    start: StartEnvironment, steps: str, named: str, force_build: bool
) -> None:
    with pytest.raises(SandboxBuildFailedError, match=named):
        await start(f"FROM debian\n{steps}\n", force_build=force_build)


@root_only
async def test_a_finished_layer_that_cannot_be_started_is_a_failed_build(
    start: StartEnvironment, tmp_path: Path, scratch: Path
) -> None:
    (tmp_path / "mounted").mkdir()
    mount: ServiceVolumeConfig = {"type": "bind", "source": str(tmp_path / "mounted"), "target": "/data/mounted"}
    with pytest.raises(SandboxBuildFailedError, match=r"cannot be started.*/data"):
        await start("FROM debian\nRUN echo file > /data\n", mounts=[mount])
    assert names(scratch) == ["layers"]


async def test_what_the_machine_lacks_is_no_failed_build(start: StartEnvironment, tmp_path: Path) -> None:
    mount: ServiceVolumeConfig = {"type": "bind", "source": str(tmp_path / "pipe"), "target": "/proc/none/mounted"}
    with pytest.raises(Unavailable):
        await start("FROM debian\nRUN true\n", mounts=[mount])


async def test_variables_that_cannot_be_passed_are_an_error_and_no_exit_code(start: StartEnvironment) -> None:
    with pytest.raises(SandboxBuildFailedError, match="'A=B'"):
        await start(persistent_env={"A=B": "x"})
    environment = await start()
    with pytest.raises(CommandFailed, match="'TOKEN'"):
        await environment.exec("true", env={"TOKEN": "x\0"})


async def test_what_the_dockerfile_made_is_there(start: StartEnvironment, tmp_path: Path) -> None:
    (tmp_path / "environment" / "data").mkdir(parents=True)
    (tmp_path / "environment" / "data" / "rows.csv").write_text("1,2\n")
    environment = await start(
        """FROM debian
ARG KIND=csv
ENV TABLE=rows.$KIND
WORKDIR /app/work
COPY data/$TABLE .
COPY data /data/
RUN wc -l < rows.csv > count && mkdir -p /data/made && echo done > /data/made/by
"""
    )
    result = await environment.exec('pwd; cat count "$TABLE" /data/rows.csv /data/made/by')
    assert (result.stdout or "").split() == ["/app/work", "1", "1,2", "1,2", "done"]
    assert environment.fidelity_notes[0].startswith("the image debian is replaced by this machine's own system, ")


async def test_finished_steps_are_used_again_until_they_change(start: StartEnvironment, scratch: Path) -> None:
    dockerfile = "FROM debian\nRUN head -c 16 /dev/urandom | od -An -tx1 > /app/made\n"
    first = await (await start(dockerfile)).exec("cat /app/made")
    second = await (await start(dockerfile)).exec("cat /app/made; rm /app/made")
    third = await (await start(dockerfile)).exec("cat /app/made")
    other = await (await start(dockerfile + "ENV A=b\nRUN true\n")).exec("cat /app/made")
    assert first.stdout == second.stdout == third.stdout
    assert other.stdout != first.stdout
    layers = [path for path in (scratch / "layers").iterdir() if path.is_dir()]
    assert len(layers) == 2


async def test_trials_that_start_together_build_once(start: StartEnvironment, scratch: Path) -> None:
    dockerfile = "FROM debian\nRUN head -c 16 /dev/urandom | od -An -tx1 > /app/made\n"
    environments = await asyncio.gather(*(start(dockerfile) for _ in range(4)))
    assert len({(await environment.exec("cat /app/made")).stdout for environment in environments}) == 1


async def test_environment_user_and_directory_reach_a_command(start: StartEnvironment) -> None:
    environment = await start(persistent_env={"KEPT": "a"})
    result = await environment.exec('echo "$KEPT $GIVEN $HOME $PWD"', cwd="/tmp", env={"GIVEN": "b"}, user="root")
    assert result.stdout == "a b /root /tmp\n"


@pytest.mark.skipif(not host.privileged(), reason="needs a second user")
async def test_the_users_of_dockerfile_and_caller(start: StartEnvironment) -> None:
    environment = await start("FROM debian\nRUN useradd -m agent\nUSER agent\n")
    assert (await environment.exec("id -un; echo $HOME")).stdout == "agent\n/home/agent\n"
    assert (await environment.exec("id -un", user="root")).stdout == "root\n"
    with environment.with_default_user("daemon"):
        assert (await environment.exec("id -un")).stdout == "daemon\n"


async def test_a_timeout_is_an_error_and_ends_the_command(start: StartEnvironment) -> None:
    environment = await start()
    with pytest.raises(RuntimeError, match="timed out after 1 seconds"):
        await environment.exec("sleep 621", timeout_sec=1)
    listing = await environment.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "sleep 621" not in (listing.stdout or "")


async def test_output_streams_to_callbacks(start: StartEnvironment) -> None:
    environment = await start()
    seen: list[str] = []

    async def callback(text: str, _: str) -> None:
        seen.append(text)

    with environment.scoped_output_callback(callback):
        await environment.exec("echo one; echo two")
    assert seen == ["one\n", "two\n"]


async def test_files_and_directories_travel_both_ways(start: StartEnvironment, tmp_path: Path) -> None:
    environment = await start()
    source = tmp_path / "source"
    (source / "sub" / "empty").mkdir(parents=True)
    (source / "sub" / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (source / "sub" / "run.sh").chmod(0o755)
    (source / "link").symlink_to("sub/run.sh")
    await environment.upload_dir(source, "/data/in")
    await environment.upload_file(source / "sub" / "run.sh", "/data/one/two.sh")
    assert (await environment.exec("/data/in/link; /data/one/two.sh")).stdout == "ran\nran\n"
    assert await environment.is_dir("/data/in/sub/empty")
    assert await environment.is_file("/data/one/two.sh")
    await environment.exec("ln -s /etc/passwd /data/in/out; mkfifo /data/in/pipe; touch -d '+1 hour' /data/in/new")
    await environment.download_dir("/data/in", tmp_path / "back")
    assert sorted(path.name for path in (tmp_path / "back").iterdir()) == ["link", "new", "sub"]
    assert (tmp_path / "back" / "sub" / "run.sh").stat().st_mode & 0o777 == 0o755
    await environment.download_file("/data/one/two.sh", tmp_path / "file.sh")
    assert (tmp_path / "file.sh").read_text() == "#!/bin/sh\necho ran\n"
    await environment.download_dir_with_exclusions(
        source_dir="/data/in", target_dir=tmp_path / "part", exclude=["*.sh"]
    )
    assert not (tmp_path / "part" / "sub" / "run.sh").exists()
    await environment.download_dir_filtered(source_dir="/data/in", target_dir=tmp_path / "some", include=["new"])
    assert [path.name for path in (tmp_path / "some").rglob("*") if path.is_file()] == ["new"]


async def test_missing_files_are_errors_that_leave_nothing(start: StartEnvironment, tmp_path: Path) -> None:
    environment = await start()
    with pytest.raises(RuntimeError, match="no such file"):
        await environment.download_file("/nowhere", tmp_path / "file")
    with pytest.raises(RuntimeError, match="no such directory"):
        await environment.download_dir("/nowhere", tmp_path / "directory")
    assert not [name for name in names(tmp_path) if name.startswith((".", "file"))]


async def test_healthchecks_run(start: StartEnvironment) -> None:
    environment = await start()
    await environment.run_healthcheck(HealthcheckConfig(command="true"))
    with pytest.raises(HealthcheckError):
        await environment.run_healthcheck(HealthcheckConfig(command="false", retries=1))


async def test_no_network_means_none(start: StartEnvironment) -> None:
    environment = await start(network_policy=NetworkPolicy(network_mode=NetworkMode.NO_NETWORK))
    assert (await environment.exec("tail -n +3 /proc/net/dev | cut -d: -f1")).stdout.split() == ["lo"]


async def test_stopping_is_safe_at_any_time(start: StartEnvironment) -> None:
    with pytest.raises(SandboxBuildFailedError):
        await start("FROM debian\nRUN false\n")
    environment = await start()
    await environment.stop(delete=True)
    await environment.stop(delete=False)
    with pytest.raises(RuntimeError, match="not running"):
        await environment.exec("true")


async def test_compose_tasks_are_refused_by_name(start: StartEnvironment, tmp_path: Path) -> None:
    (tmp_path / "environment").mkdir()
    (tmp_path / "environment" / "docker-compose.yaml").write_text("services: {}\n")
    with pytest.raises(InvalidTask, match=r"docker-compose\.yaml"):
        await start()
