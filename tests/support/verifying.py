"""Verifying workspaces without an agent, by the engine alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oddish.engine.client import ForkServer
from oddish.engine.evidence import read_evidence
from oddish.engine.results import TrialFacts, attempt_facts, read_trial
from oddish.outcome import Outcome, judge
from support.engine_kit import new_run

REWARD = "echo {} > /logs/verifier/reward.txt"
JUDGE = 'test "$(cat /workspace/answer)" = 42; code=$?; echo $((1 - code)) > /logs/verifier/reward.txt; exit $code'
OF_NOBODY = f'set -e; [ "$(id -un)" = nobody ]; echo 42 > /workspace/inner/new; /workspace/inner/tool.sh; {REWARD}'
"""Succeeds where the user of the image may change the workspace."""


@dataclass(frozen=True)
class Verify:
    """Trials of one test; ``scratch`` may be shared."""

    server: ForkServer
    trials: Path
    scratch: Path
    environment: str = "local"

    async def __call__(self, task: Path, workspace: Path, **members: Any) -> tuple[TrialFacts, Outcome, object]:
        """What the directory says, what comes of it, and the exit code as the trial's result shows it."""
        run = new_run(
            self.trials,
            task,
            agent="nop",
            environment=self.environment,
            scratch=str(self.scratch),
            workspace=str(workspace),
            **members,
        )
        async with self.server.attempt(run) as attempt:
            async for _ in attempt:
                pass
        assert attempt.done is not None
        directory = Path(str(attempt.done["trial_dir"]))
        facts = read_trial(directory)
        result = read_evidence(directory).result or {}
        return facts, judge(attempt_facts(facts, attempt.done, "done")), result["_verifier"]["exit_code"]


def write_workspace(directory: Path) -> Path:
    """The answer that ``JUDGE`` looks for, and a script in a folder."""
    (directory / "inner").mkdir(parents=True)
    (directory / "answer").write_text("42\n")
    (directory / "inner/tool.sh").write_text("#!/bin/sh\necho told\n")
    (directory / "inner/tool.sh").chmod(0o755)
    return directory
