"""Workspaces that are verified without an agent, in the local sandbox: what the test script exits with is kept."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from oddish.engine.client import ForkServer
from oddish.engine.evidence import read_evidence
from oddish.engine.results import TrialFacts, attempt_facts, read_trial
from oddish.outcome import Outcome, judge
from oddish.sandbox.support import support
from support.engine_kit import new_run, write_task

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not support().usable, reason=str(support().reason))]

REWARD = "echo {} > /logs/verifier/reward.txt"
JUDGE = 'test "$(cat /workspace/answer)" = 42; code=$?; echo $((1 - code)) > /logs/verifier/reward.txt; exit $code'


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[ForkServer]:
    async with ForkServer() as server:
        yield server


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    workspace = tmp_path / "seed"
    (workspace / "inner").mkdir(parents=True)
    (workspace / "answer").write_text("42\n")
    (workspace / "inner/tool.sh").write_text("#!/bin/sh\necho told\n")
    (workspace / "inner/tool.sh").chmod(0o755)
    return workspace


class Verify:
    """Trials of one test; the layers are those of all."""

    def __init__(self, server: ForkServer, trials: Path, scratch: Path) -> None:
        self._server = server
        self._trials = trials
        self._scratch = scratch

    async def __call__(self, task: Path, workspace: Path, **members: Any) -> tuple[TrialFacts, Outcome, object]:
        """What the directory says, what comes of it, and the exit code as the trial's result shows it."""
        run = new_run(
            self._trials,
            task,
            agent="nop",
            environment="local",
            scratch=str(self._scratch),
            workspace=str(workspace),
            **members,
        )
        async with self._server.attempt(run) as attempt:
            async for _ in attempt:
                pass
        assert attempt.done is not None
        directory = Path(str(attempt.done["trial_dir"]))
        facts = read_trial(directory)
        result = read_evidence(directory).result or {}
        return facts, judge(attempt_facts(facts, attempt.done, "done")), result["_verifier"]["exit_code"]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sandboxes")


@pytest.fixture
def verify(server: ForkServer, tmp_path: Path, scratch: Path) -> Verify:
    return Verify(server, tmp_path / "trials", scratch)


@pytest.mark.parametrize(
    ("answer", "test", "reward", "exit_code"),
    [
        ("42", JUDGE, 1.0, 0),
        ("41", JUDGE, 0.0, 1),
        ("42", f"{REWARD.format(1)}; exit 7", 1.0, 7),
    ],
)
async def test_the_exit_code_and_the_reward_are_two_facts(
    verify: Verify, tmp_path: Path, workspace: Path, answer: str, test: str, reward: float, exit_code: int
) -> None:
    (workspace / "answer").write_text(answer)
    facts, outcome, observed = await verify(write_task(tmp_path / "tasks", test=test), workspace)
    assert (outcome.status, outcome.reward, observed) == ("success", reward, exit_code)
    assert (facts.agent, facts.exceptions) == ("workspace", ())


async def test_a_test_without_a_reward_has_an_exit_code(verify: Verify, tmp_path: Path, workspace: Path) -> None:
    _, outcome, observed = await verify(write_task(tmp_path / "tasks", test="exit 3"), workspace)
    assert (outcome.status, outcome.reasons, observed) == ("failed", ("RewardFileNotFoundError",), 3)


async def test_a_test_that_does_not_end_has_none(verify: Verify, tmp_path: Path, workspace: Path) -> None:
    harbor = {"verifier": {"override_timeout_sec": 0.5}}
    facts, _, observed = await verify(write_task(tmp_path / "tasks", test="sleep 60"), workspace, harbor=harbor)
    assert ([item.type for item in facts.exceptions], observed) == (["VerifierTimeoutError"], None)


async def test_the_files_are_those_of_the_user_of_the_image(verify: Verify, tmp_path: Path, workspace: Path) -> None:
    test = f'set -e; [ "$(id -un)" = nobody ]; echo 42 > /workspace/inner/new; /workspace/inner/tool.sh; {REWARD}'
    task = write_task(tmp_path / "tasks", test=test.format(1))
    with (task / "environment/Dockerfile").open("a") as dockerfile:
        dockerfile.write("RUN chmod 777 /app\nUSER nobody\n")
    assert (await verify(task, workspace))[2] == 0


async def test_an_image_of_the_verifiers_own_holds_the_workspace_and_its_own_tests(
    verify: Verify, tmp_path: Path, workspace: Path
) -> None:
    extra = '[verifier]\nenvironment_mode = "separate"\n'
    task = write_task(tmp_path / "tasks", test=f"test -e /tests/Dockerfile && exit 9; {JUDGE}", extra=extra)
    (task / "tests/Dockerfile").write_text("FROM debian\nCOPY test.sh /tests/test.sh\n")
    assert (await verify(task, workspace))[2] == 0
