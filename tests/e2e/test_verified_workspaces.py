"""Workspaces that are verified without an agent, in the local sandbox: what the test script exits with is kept."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oddish.engine.client import ForkServer
from oddish.sandbox.support import support
from support.engine_kit import write_task
from support.verifying import JUDGE, OF_NOBODY, REWARD, Verify, write_workspace

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not support().usable, reason=str(support().reason))]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[ForkServer]:
    async with ForkServer() as server:
        yield server


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "seed")


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
    task = write_task(tmp_path / "tasks", test=OF_NOBODY.format(1))
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
