"""Harbor's verifier, and what its test script exited with, which Harbor looks past."""

import json
from pathlib import Path
from typing import Any, cast, override

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.models.task.verifier_mode import resolve_verifier_environment_definition
from harbor.models.trial.paths import EnvironmentPaths
from harbor.models.verifier.result import VerifierResult
from harbor.verifier.verifier import Verifier

from oddish.engine.agents.seeding import seed
from oddish.engine.evidence import EXIT_CODES_FILE, verifier_exit_codes


class ObservingVerifier(Verifier):
    """Verifies ``workspace``, a directory on this machine that the seeding agent has copied into the environment.

    An environment of the verifier's own has not seen that agent, and gets the files from here.
    """

    def __init__(self, *, workspace: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        steps = {step.name: step for step in self.task.config.steps or ()}
        own = resolve_verifier_environment_definition(
            self.task.config, self.task.paths, steps.get(self.step_name or "")
        )
        self._workspace = Path(workspace) if own is not None else None
        # Harbor tells only its own verifier.
        self._skip_tests_upload = own is not None and own.bundled_tests

    @override
    async def verify(self) -> VerifierResult:
        if self._workspace is not None:
            await seed(self.environment, self._workspace)
        watched = Watched(self.environment, self._output())
        self.environment = cast(BaseEnvironment, watched)
        try:
            return await super().verify()
        finally:
            self._record(watched.exit_code)

    def _output(self) -> str:
        """Where Harbor sends what the test script prints, and nothing else."""
        directory = EnvironmentPaths.for_os(self.environment.os).verifier_dir
        return str(directory / self.trial_paths.test_stdout_path.name)

    def _record(self, exit_code: int | None) -> None:
        """At the root of the trial directory, where nothing comes from inside of the environment."""
        codes = [*verifier_exit_codes(self.trial_paths.trial_dir), exit_code]
        (self.trial_paths.trial_dir / EXIT_CODES_FILE).write_text(json.dumps({"exit_codes": codes}))


class Watched:
    """An environment that remembers what the command that writes to ``output`` exited with."""

    def __init__(self, environment: BaseEnvironment, output: str) -> None:
        self._environment = environment
        self._output = output
        self.exit_code: int | None = None
        """None for as long as it has not ended."""

    async def exec(self, command: str, *args: Any, **kwargs: Any) -> ExecResult:
        result = await self._environment.exec(command, *args, **kwargs)
        if self._output in command:
            self.exit_code = result.return_code
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)
