"""Harbor's environment contract on the local sandbox: no container engine, image or registry."""

import asyncio
import inspect
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, override

from harbor.environments.base import BaseEnvironment, ExecResult, SandboxBuildFailedError
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.environments.definition import COMPOSE_FILE_NAME, DOCKERFILE_NAME, require_agent_environment_definition
from harbor.models.task.config import HealthcheckConfig
from harbor.models.trial.config import ResourceMode
from harbor.utils.path_filter import filter_paths_by_patterns
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from oddish.cache import Held
from oddish.engine.environments import record
from oddish.errors import InvalidInput, InvalidTask, Unavailable
from oddish.home import home, private_directory
from oddish.sandbox import (
    build,
    dockerfile,
    fidelity,
    host,
    layers,
    layout,
    libraries,
    plan,
    platforms,
    transfer,
    users,
)
from oddish.sandbox.archive import Extracted
from oddish.sandbox.cgroup import controllers, hierarchies
from oddish.sandbox.context import Context
from oddish.sandbox.entry import EntryPoint
from oddish.sandbox.failures import CommandFailed
from oddish.sandbox.layers import LayerStore
from oddish.sandbox.sandbox import Sandbox
from oddish.sandbox.spec import Bind, Command, Limits, Spec, User
from oddish.sandbox.streams import Stream
from oddish.sandbox.support import support
from oddish.sandbox.sweep import sweep

_MEBIBYTE = 1024 * 1024
_MISSING_PROGRAM = 127
_HEALTH_SECONDS = 0.5
_HEALTH_GRACE_SECONDS = 10
_HARBORS_OWN = inspect.signature(BaseEnvironment.__init__).parameters.keys()
_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


def look_around() -> None:
    """Find out what each sandbox asks about this machine, once for all those of processes forked from this one."""
    hierarchies()
    host.system_name()
    libraries.in_use(layout.system_directories())
    platforms.predefined()


class LocalOptions(BaseModel):
    """What a user can set with ``environment.kwargs``.

    Not one of Harbor's option models, which releases before 0.26 do not have.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    scratch: str | None = Field(
        default=None,
        description="Directory for running sandboxes and finished layers; default: sandboxes/ in the state directory.",
    )
    name: str | None = Field(default=None, description="Name of the sandbox; default: the session's.")
    cache_bytes: int | None = Field(
        default=None, ge=0, description="Size up to which finished layers are kept; default: all of them."
    )


class LocalEnvironment(BaseEnvironment):
    """One task environment in Linux namespaces. For trusted tasks: the kernel and mostly the network are shared."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._sandbox: Sandbox | None = None
        self._entry: EntryPoint | None = None
        self._plan = plan.Plan()
        options = _options({name: kwargs.pop(name) for name in kwargs.keys() - _HARBORS_OWN})
        super().__init__(*args, **kwargs)
        self._cache_bytes = options.cache_bytes
        scratch = options.scratch
        self._scratch = Path(scratch) if scratch else home() / "sandboxes"
        label = _NAME.sub("-", options.name or self.session_id).strip("-.")[:80]
        self._name = f"{label}-{secrets.token_hex(4)}"

    @staticmethod
    @override
    def type() -> str:
        return "local"

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True, mounted=True)

    @classmethod
    @override
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        available = controllers()
        return EnvironmentResourceCapabilities(
            cpu_limit="cpu" in available,
            cpu_request="cpu" in available,
            memory_limit="memory" in available,
            fractional_cpus=True,
        )

    @classmethod
    @override
    def preflight(cls, *args: Any, **named: Any) -> None:
        super().preflight(*args, **named)
        if reason := support().reason:
            raise SystemExit(reason)

    def on_disk(self, folder: PurePosixPath) -> tuple[Path, str] | None:
        """Where a folder of the sandbox is on this machine: a directory, and the folder from there. None: elsewhere."""
        mounted = any(folder.is_relative_to(mount["target"]) for mount in self._host_mounts)
        return None if mounted else (self._running().written, str(folder.relative_to("/")))

    @property
    def fidelity_notes(self) -> tuple[str, ...]:
        """Where this environment differs from the container that the task was written for."""
        limited = self._spec().limits
        here = fidelity.Circumstances(
            system=host.system_name(),
            privileged=host.privileged(),
            controllers=controllers(),
            network=not self._network_disabled,
            cpus=self.task_env_config.cpus if limited.cpu_quota is None else None,
            memory_mb=self._effective_memory_mb,
        )
        image = self._plan.image or self.task_env_config.docker_image or "of the task"
        return fidelity.notes(self._plan, image, here)

    @override
    def _validate_definition(self) -> None:
        require_agent_environment_definition(self.environment_dir, docker_image=self.task_env_config.docker_image)
        if (self.environment_dir / COMPOSE_FILE_NAME).exists():
            raise InvalidTask(
                f"{self.environment_name}: the local sandbox has no services for {COMPOSE_FILE_NAME}.",
                fix="Use the docker environment for this task.",
            )
        for mount in self._mounts:
            if mount["type"] != "bind":
                raise InvalidTask(
                    f"The mount at {mount['target']} is a {mount['type']}; the local sandbox has bind mounts only.",
                    fix="Use type: bind, or the docker environment.",
                )
        file = self.environment_dir / DOCKERFILE_NAME
        if file.exists():
            self._plan = plan.make(dockerfile.parse(file.read_text(errors="replace")))
        wanted, here = self._plan.platform, platforms.current()
        if wanted and not here.covers(wanted):
            raise InvalidTask(
                f"The Dockerfile is for the platform {wanted}; this machine is {here.name}.",
                fix="Use a worker of that platform, or the docker environment.",
            )

    def _spec(self, suffix: str = "") -> Spec:
        memory = self._resource_limit_value("memory", auto_mode=ResourceMode.LIMIT)
        return Spec(
            name=f"{self._name}{suffix}",
            directory=self._scratch / f"{self._name}{suffix}",
            binds=tuple(
                Bind(Path(mount["source"]), str(mount["target"]), bool(mount.get("read_only")))
                for mount in self._host_mounts
            ),
            hidden=(home(), self._scratch),
            network=not self._network_disabled,
            limits=Limits(
                memory_bytes=memory * _MEBIBYTE if memory else None,
                cpu_weight=self._resource_request_value("cpu", auto_mode=ResourceMode.REQUEST) or 1.0,
                cpu_quota=self._resource_limit_value("cpu", auto_mode=ResourceMode.REQUEST),
                disk_bytes=storage * _MEBIBYTE if (storage := self._effective_storage_mb) else None,
            ),
        )

    @override
    async def start(self, force_build: bool) -> None:
        private_directory(self._scratch)
        await asyncio.to_thread(sweep, self._scratch)
        for bind in self._spec().binds:
            await asyncio.to_thread(bind.source.mkdir, parents=True, exist_ok=True)
        await asyncio.to_thread(record.add_notes, self.trial_paths.trial_dir, self.fidelity_notes)
        if self._plan.has_commands:
            self._sandbox = await self._start_on_layer(force_build=force_build)
        else:
            self._sandbox = await Sandbox.start(self._spec())
            await self._build(self._sandbox)
        await self._try_shell(self._sandbox)
        await self._enter(self._sandbox)
        await self._make_workdir()
        await self._upload_environment_dir_after_start()
        await self.ensure_dirs(self._mount_targets(writable_only=True))
        await self._wait_until_healthy()

    async def _start_on_layer(self, *, force_build: bool) -> Sandbox:
        """On the layer of this Dockerfile, built by whoever of several trials comes first, or anew if forced."""
        store = LayerStore(self._scratch / "layers", self._cache_bytes)
        name = await asyncio.to_thread(layers.key, self._plan, self.environment_dir)
        if force_build:
            name = f"{name}-{secrets.token_hex(4)}"
        async with store.hold(name, self._built) as layer:
            return await self._start_on(layer)

    async def _built(self) -> Sandbox:
        """A sandbox in which the steps were carried out; building has the network, whatever the task has later."""
        builder = await Sandbox.start(replace(self._spec("-build"), binds=(), network=True))
        try:
            await self._build(builder)
        except BaseException:
            await builder.stop()
            raise
        return builder

    async def _start_on(self, layer: Held) -> Sandbox:
        """The layer is to blame when the sandbox does not start twice, and between the two starts without it."""
        spec = replace(self._spec(), layers=(layer.path,), locks=(layer.lock,))
        try:
            return await Sandbox.start(spec)
        except Unavailable:
            await (await Sandbox.start(self._spec("-plain"))).stop()
        try:
            return await Sandbox.start(spec)
        except Unavailable as error:
            raise SandboxBuildFailedError(f"What the Dockerfile makes cannot be started. {error}") from error

    async def _try_shell(self, sandbox: Sandbox) -> None:
        """Every later command needs the shell, the definition's user and its variables."""
        try:
            account = await users.resolve(sandbox, self._plan.user if host.privileged() else None)
            order = Command((host.shell(), "-c", ":"), self._variables(account), user=account)
            outcome = await sandbox.run(order)
        except (InvalidInput, CommandFailed) as error:
            if isinstance(error, CommandFailed) and (sandbox.ended or error.exhausted):
                raise
            raise SandboxBuildFailedError(f"No command can start in this environment: {error}") from error
        if outcome.code > 0:
            said = outcome.stderr.decode(errors="replace").strip()
            raise SandboxBuildFailedError(f"{order.argv[0]} does not work in this environment: {said}")

    async def _record(self, line: str, _: Stream) -> None:
        self.logger.debug(line.rstrip())

    async def _build(self, sandbox: Sandbox) -> None:
        try:
            await build.carry_out(self._plan, Context(self.environment_dir), sandbox, self._record)
        except build.BuildFailed as error:
            raise SandboxBuildFailedError(str(error)) from error

    async def _enter(self, sandbox: Sandbox) -> None:
        if not self._plan.entrypoint:
            return
        account = await users.resolve(sandbox, self._plan.user)
        argv = self._plan.entrypoint
        if not argv[0].startswith("/"):
            argv = ("/usr/bin/env", "--", *argv)
        order = Command(argv, self._variables(account), self._plan.workdir, account)
        self._entry = EntryPoint(sandbox, order, self._record, self._note_end_of_entry)
        try:
            await self._entry.ready()
        except CommandFailed as error:
            if sandbox.ended or error.exhausted:
                raise
            raise SandboxBuildFailedError(f"ENTRYPOINT {argv[0]} cannot be started: {error}") from error

    def _note_end_of_entry(self, code: int) -> None:
        self.logger.warning("ENTRYPOINT ended with code %d; a container would have ended with it", code)

    async def _wait_until_healthy(self) -> None:
        """An engine checks every ``interval``; checking more often for as long finds the same, sooner."""
        if check := self._plan.healthcheck:
            limited = plan.shell_words(("timeout", f"{check.timeout:g}", *self._plan.shell, check.command))
            await self.run_healthcheck(
                HealthcheckConfig(
                    command=limited,
                    interval_sec=_HEALTH_SECONDS,
                    start_interval_sec=_HEALTH_SECONDS,
                    timeout_sec=check.timeout + _HEALTH_GRACE_SECONDS,
                    start_period_sec=check.start_period + check.retries * check.interval,
                    retries=1,
                )
            )

    async def _make_workdir(self) -> None:
        if workdir := self.task_env_config.workdir:
            await self.exec('mkdir -p -- "$WORKDIR"', cwd="/", env={"WORKDIR": workdir}, user="root")

    @override
    async def stop(self, delete: bool) -> None:
        sandbox, self._sandbox = self._sandbox, None
        entry, self._entry = self._entry, None
        if sandbox:
            await sandbox.stop()
        if entry:
            await entry.close()

    def _running(self) -> Sandbox:
        if self._sandbox is None:
            raise RuntimeError("The local sandbox is not running.")
        return self._sandbox

    def _variables(self, account: User, env: dict[str, str] | None = None) -> dict[str, str]:
        own = {"HOME": account.home, "HOSTNAME": self._name[:63]}
        return own | self._plan.env | (self._merge_env(env) or {})

    @override
    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        sandbox = self._running()
        wanted = self._resolve_user(user)
        account = await users.resolve(sandbox, self._plan.user if wanted is None else wanted)
        order = Command(
            argv=(host.shell(), "-c", command),
            env=self._variables(account, env),
            cwd=cwd or self.task_env_config.workdir or self._plan.workdir,
            user=account,
        )
        try:
            outcome = await sandbox.run(order, timeout=timeout_sec, on_line=self._output_callback())
        except TimeoutError as error:
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds") from error
        except CommandFailed as error:
            if sandbox.ended or error.malformed:
                raise
            return ExecResult(stdout="", stderr=f"{order.cwd}: {error}\n", return_code=_MISSING_PROGRAM)
        return ExecResult(
            stdout=outcome.stdout.decode(errors="replace"),
            stderr=outcome.stderr.decode(errors="replace"),
            return_code=outcome.code if outcome.code >= 0 else 128 - outcome.code,
        )

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        await transfer.put_file(self._running(), Path(source_path), self._absolute(target_path))

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        await transfer.put_directory(self._running(), Path(source_dir), self._absolute(target_dir))

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        await transfer.get_file(self._running(), self._absolute(source_path), Path(target_path))

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        await self._download(source_dir, target_dir)

    @override
    async def download_dir_with_exclusions(
        self, *, source_dir: str, target_dir: Path | str, exclude: list[str]
    ) -> None:
        await self._download(source_dir, target_dir, exclude=tuple(exclude))

    @override
    async def download_dir_filtered(
        self,
        *,
        source_dir: str,
        target_dir: Path | str,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        protect: Sequence[str] | None = None,
    ) -> None:
        def wanted(name: str) -> bool:
            return name in (protect or ()) or bool(filter_paths_by_patterns([name], include=include, exclude=exclude))

        await self._download(source_dir, target_dir, wanted=wanted)

    async def _download(
        self,
        source: str,
        target: Path | str,
        *,
        exclude: tuple[str, ...] = (),
        wanted: Callable[[str], bool] = lambda _: True,
    ) -> None:
        result: Extracted = await transfer.get_directory(
            self._running(), self._absolute(source), Path(target), exclude=exclude, wanted=wanted
        )
        for name in result.left_out:
            self.logger.warning("Not downloaded from %s: %s (a special file, or a link that leads out)", source, name)

    def _absolute(self, path: str) -> str:
        return str(Path(self.task_env_config.workdir or self._plan.workdir, path))


def _options(kwargs: dict[str, Any]) -> LocalOptions:
    try:
        return LocalOptions.model_validate(kwargs)
    except ValidationError as error:
        named = "; ".join(f"{item['loc'][0]}: {item['msg']}" for item in error.errors(include_url=False))
        raise InvalidInput(
            f"The local environment does not take these kwargs: {named}.",
            fix=f"It takes {', '.join(LocalOptions.model_fields)}.",
        ) from None
