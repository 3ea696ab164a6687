"""Harbor's Docker environment for many attempts at once: quick to start and to end, and nothing of it stays behind.

A task with services of its own is left to Compose, as in Harbor. Any other task is a single container, which the docker
program runs without Compose: an image that is built once for all trials, one network for all containers, no grace
period at the end.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, override

from harbor.environments.base import ExecResult, OutputCallback, SandboxBuildFailedError
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.environments.definition import COMPOSE_FILE_NAME, should_use_prebuilt_docker_image
from harbor.environments.docker.docker import DockerEnvironment, DockerOptions
from harbor.models.task.config import NetworkMode, NetworkPolicy
from harbor.models.trial.config import ResourceMode
from pydantic import Field

from oddish.engine.containers import NETWORK, PROJECT_LABEL, project_name
from oddish.engine.environments import docker_images as images
from oddish.engine.environments.docker_commands import Exec, parse_exec, promptly, service_of_path, without_values
from oddish.engine.environments.docker_leftovers import SCRIPT
from oddish.engine.environments.docker_program import Answer, ask, started
from oddish.engine.image_records import locked
from oddish.home import home
from oddish.variables import can_be_handed_over

SERVICE = "main"
KEEP_RUNNING = ("sh", "-c", "sleep infinity")
CUT_OFF_SECONDS = 10.0
HEALTH_POLL_SECONDS = 0.25
ADDRESSES_POLL_SECONDS = 2.0
CANNOT_START = frozenset({125, 126, 127})

_NO_ADDRESSES = re.compile(r"non-overlapping IPv4 address pool|all predefined address pools", re.IGNORECASE)
_NO_NETWORK = re.compile(rf"network {NETWORK} not found|No such network: {NETWORK}", re.IGNORECASE)
_NOT_STARTED = re.compile(r"OCI runtime (?:create|exec) failed|executable file not found", re.IGNORECASE)


class Options(DockerOptions):
    """What can be set with ``environment.kwargs``."""

    owner: str = Field(default="nobody", description="Whose sweep removes what is left behind; set by the worker.")
    signed_in: bool = Field(default=False, description="Registry logins are the trial's own; set by the worker.")


class PromptDockerEnvironment(DockerEnvironment):
    """One environment of a trial on a Docker engine."""

    options_model = Options
    options: Options

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._commands = 0
        self._cut_off = False
        self._containers: dict[str, str] = {}
        self._labels_file: Path | None = None
        compose = Path(kwargs["environment_dir"], COMPOSE_FILE_NAME).exists() or kwargs.get("extra_docker_compose")
        self._may_be_single = not compose
        super().__init__(*args, **kwargs)
        attempt = self.trial_paths.trial_dir.name
        session = hashlib.sha256(self.session_id.encode()).hexdigest()[:8]
        self._role = "env" if self.session_id.endswith("__env") else f"verifier-{session}"
        # Harbor names the Compose project after the session.
        self.session_id = project_name(self.options.owner, attempt, self._role)
        self._container = f"{self.session_id}-{SERVICE}-1"
        self._labels = {"oddish.owner": self.options.owner, "oddish.attempt": attempt, "oddish.role": self._role}

    @override
    def _requires_egress_control(  # type: ignore[override]  # Harbor's needs no instance
        self, *, startup_network_policy: NetworkPolicy, phase_network_policies: Sequence[NetworkPolicy]
    ) -> bool:
        """A single container that never has a network needs no second one to watch it."""
        modes = {policy.network_mode for policy in (startup_network_policy, *phase_network_policies)}
        return modes != {NetworkMode.PUBLIC} and not (self._may_be_single and modes == {NetworkMode.NO_NETWORK})

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        able = super().capabilities
        return able.model_copy(update={"disable_internet": able.disable_internet or self._may_be_single})

    @property
    def _single(self) -> bool:
        """Whether one container is all there is, so that Compose has nothing to do."""
        return self._may_be_single and not (
            self._enable_egress_control
            or self._is_windows_container
            or self.stream_enabled
            or self._effective_gpus
            or any(mount["type"] != "bind" for mount in self._host_mounts)
        )

    @property
    def _build_log(self) -> Path:
        return self.trial_paths.trial_dir / ("build.log" if self._role == "env" else f"{self._role}-build.log")

    @override
    async def start(self, force_build: bool) -> None:
        if not self._single:
            with tempfile.TemporaryDirectory(prefix="oddish-labels-") as directory:
                self._labels_file = Path(directory) / "labels.json"
                self._labels_file.write_text(json.dumps({"services": {SERVICE: {"labels": self._labels}}}))
                try:
                    await super().start(force_build)
                finally:
                    self._labels_file = None
            return
        image = await self._image(force_build)
        await self._start_container(image)
        await self._upload_environment_dir_after_start()
        await self._make_directories()

    async def _image(self, force_build: bool) -> dict[str, Any]:
        prebuilt = self.task_env_config.docker_image
        if should_use_prebuilt_docker_image(self.environment_dir, docker_image=prebuilt, force_build=force_build):
            return await images.pulled(cast(str, prebuilt), log=self._build_log)
        name = self.environment_name
        return await images.built(
            self.environment_dir, task=name, log=self._build_log, anew=force_build, alone=self.options.signed_in
        )

    async def _start_container(self, image: dict[str, Any]) -> None:
        names, variables = without_values(self._startup_env())
        command = ["run", "--detach", "--pull", "never", "--name", self._container, *self._run_options(), *names]
        command += [image["Id"], *KEEP_RUNNING]
        answer = await _uninterrupted(command, variables)
        if answer.code != 0 and _NO_NETWORK.search(answer.output):
            await make_network()
            await ask("rm", "--force", self._container)
            answer = await _uninterrupted(command, variables)
        if answer.code != 0:
            blame = SandboxBuildFailedError if _NOT_STARTED.search(answer.output) else RuntimeError
            raise blame(f"The container of {self.environment_name} cannot be started.\n{answer.said}")
        await self._wait_until_healthy(bool(image["Config"].get("Healthcheck")))

    def _run_options(self) -> list[str]:
        options = ["--network", "none" if self._network_disabled else NETWORK]
        for name, value in {PROJECT_LABEL: self.session_id, **self._labels}.items():
            options += ["--label", f"{name}={value}"]
        for mount in self._host_mounts:
            read_only = ",readonly" if mount.get("read_only") else ""
            options += ["--mount", f'type=bind,"source={mount["source"]}","target={mount["target"]}"{read_only}']
        cpus = self._resource_limit_value("cpu", auto_mode=ResourceMode.LIMIT)
        memory = self._resource_limit_value("memory", auto_mode=ResourceMode.LIMIT)
        reserved = self._resource_request_value("memory", auto_mode=ResourceMode.LIMIT)
        options += ["--cpus", str(cpus)] if cpus else []
        options += ["--memory", f"{memory}m"] if memory else []
        options += ["--memory-reservation", f"{reserved}m"] if reserved else []
        return options

    async def _wait_until_healthy(self, checked: bool) -> None:
        template = "{{.State.Status}} {{.State.ExitCode}}" + (" {{.State.Health.Status}}" if checked else "")
        while True:
            answer = await ask("inspect", "--format", template, self._container)
            if answer.code != 0:
                raise RuntimeError(f"The container of {self.environment_name} is gone or out of reach.\n{answer.said}")
            status, code, *health = answer.output.split()
            if status != "running":
                logs = await ask("logs", "--tail", "20", self._container)
                raise SandboxBuildFailedError(
                    f"The container of {self.environment_name} ended with code {code} as soon as it was started.\n"
                    f"{logs.said}"
                )
            if health == ["unhealthy"]:
                raise RuntimeError(f"The container of {self.environment_name} is unhealthy by its image's own check.")
            if health in ([], ["healthy"]):
                return
            await asyncio.sleep(HEALTH_POLL_SECONDS)

    async def _make_directories(self) -> None:
        """The first command in the container; without bash there is no second."""
        result = await self.ensure_dirs(self._mount_targets(writable_only=True))
        if result is not None and result.return_code in CANNOT_START:
            said = (result.stdout or "").strip() or "it has no bash"
            raise SandboxBuildFailedError(f"No command can start in the container of {self.environment_name}: {said}")

    @property
    @override
    def _docker_compose_paths(self) -> list[Path]:
        return [*super()._docker_compose_paths, *([self._labels_file] if self._labels_file else [])]

    @override
    def _compose_env_vars(self, include_os_env: bool = True) -> dict[str, str]:
        """Without those of a task that would steer the docker program on this machine and not its containers."""
        variables = super()._compose_env_vars(include_os_env)
        for name in {*self._compose_task_env, *self._persistent_env}:
            if not can_be_handed_over(name):
                variables.pop(name, None)
                if include_os_env and name in os.environ:
                    variables[name] = os.environ[name]
        return variables

    @override
    async def _run_docker_compose_command(
        self,
        command: list[str],
        check: bool = True,
        timeout_sec: int | None = None,
        stdin_data: bytes | None = None,
        on_output: OutputCallback | None = None,
    ) -> ExecResult:
        verb, *rest = command
        if verb == "exec":
            return await self._exec(parse_exec(rest), check, timeout_sec, stdin_data, on_output)
        if verb == "cp":
            paths = [await self._container_path(argument) for argument in rest]
            return await self._docker(["cp", *paths], {}, check, timeout_sec, None, None)
        if self._single:
            remove = ["rm", "--force", "--volumes"] if verb == "down" else ["stop", "--time", "0"]
            return await self._docker([*remove, self._container], {}, check, timeout_sec, None, None)
        if verb == "build":
            return await self._compose_build(command)
        if verb == "up":
            return await self._compose_up(command)
        return await super()._run_docker_compose_command(promptly(command), check, timeout_sec, stdin_data, on_output)

    async def _exec(
        self,
        order: Exec,
        check: bool,
        timeout_sec: int | None,
        stdin_data: bytes | None,
        on_output: OutputCallback | None,
    ) -> ExecResult:
        container = await self._container_of(order.service)
        names, variables = without_values(order.env)
        interactive = ["--interactive"] if stdin_data is not None else []
        command = ["exec", *interactive, *order.options, *names, container, *order.argv]
        self._commands += 1
        try:
            return await self._docker(command, variables, check, timeout_sec, stdin_data, on_output)
        except BaseException:
            self._cut_off = True
            raise
        finally:
            self._commands -= 1
            if self._cut_off and not self._commands:
                self._cut_off = False
                await asyncio.shield(end_commands(container))

    async def _container_path(self, argument: str) -> str:
        service = service_of_path(argument)
        return argument if service is None else await self._container_of(service) + argument[len(service) :]

    async def _container_of(self, service: str) -> str:
        """Name or id of the service's container. Raises RuntimeError when there is none."""
        if self._single:
            return self._container
        if service not in self._containers:
            filters = {PROJECT_LABEL: self.session_id, "com.docker.compose.service": service}
            options = [part for name, value in filters.items() for part in ("--filter", f"label={name}={value}")]
            answer = await ask("ps", "--all", "--quiet", *options)
            if answer.code != 0 or not answer.output.strip():
                raise RuntimeError(f"The service {service} has no container. {answer.said}")
            self._containers[service] = answer.output.split()[0]
        return self._containers[service]

    async def _docker(
        self,
        command: list[str],
        variables: dict[str, str],
        check: bool,
        timeout_sec: int | None,
        stdin_data: bytes | None,
        on_output: OutputCallback | None,
    ) -> ExecResult:
        """Run the docker program as Harbor runs Compose: output of both streams together, as lines when asked for."""
        stdin = subprocess.DEVNULL if stdin_data is None else subprocess.PIPE
        async with started(*command, env=variables, stdin=stdin) as process:
            if on_output is not None:
                result = await self._collect_streamed_output(
                    process, timeout_sec=timeout_sec, stdin_data=stdin_data, on_output=on_output
                )
            else:
                result = await self._collect_buffered_output(process, timeout_sec=timeout_sec, stdin_data=stdin_data)
        if check and result.return_code != 0:
            raise RuntimeError(
                f"docker {command[0]} failed for {self.environment_name} with code {result.return_code}: "
                f"{(result.stdout or '').strip()[-2000:]}"
            )
        return result

    async def _compose_build(self, command: list[str]) -> ExecResult:
        """One build of a definition at a time; its log is kept, and what it fails for told apart."""
        async with locked(home(), f"compose {images.content_key(self.environment_dir)}"):
            result = await super()._run_docker_compose_command(command, check=False)
        output = result.stdout or ""
        self._build_log.write_text(output)
        if result.return_code != 0:
            blame = SandboxBuildFailedError if images.blames_definition(output) else RuntimeError
            raise blame(f"The images of {self.environment_name} cannot be built.\n{images.readable(output)}")
        return result

    async def _compose_up(self, command: list[str]) -> ExecResult:
        """Wait for a network while other trials have them all; the limit on the environment's start ends the wait."""
        said = False
        while True:
            result = await super()._run_docker_compose_command(command, check=False)
            output = result.stdout or ""
            if result.return_code == 0:
                return result
            if not _NO_ADDRESSES.search(output):
                raise RuntimeError(f"The services of {self.environment_name} do not start.\n{images.readable(output)}")
            if not said:
                self.logger.warning(
                    "The engine has no addresses for another network; waiting until a trial ends. More networks: "
                    "default-address-pools in the engine's configuration."
                )
                said = True
            await asyncio.sleep(ADDRESSES_POLL_SECONDS)


async def end_commands(container: str) -> None:
    """End the commands in ``container`` that nobody waits for any more. Does nothing when it is gone."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(CUT_OFF_SECONDS):
            await ask("exec", "--user", "root", container, "sh", "-c", SCRIPT)


async def make_network() -> None:
    """The network of all single containers, unless it is there."""
    async with locked(home(), f"network {NETWORK}"):
        if (await ask("network", "inspect", NETWORK)).code != 0:
            apart = "com.docker.network.bridge.enable_icc=false"
            answer = await ask("network", "create", "--driver", "bridge", "--opt", apart, NETWORK)
            if answer.code != 0:
                raise RuntimeError(f"The network {NETWORK} cannot be made: {answer.said}")


async def _uninterrupted(command: list[str], variables: dict[str, str]) -> Answer:
    """Run to the end even when cancelled: a container that nobody waits for would be made after its removal."""
    work = asyncio.ensure_future(ask(*command, env=variables))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise
