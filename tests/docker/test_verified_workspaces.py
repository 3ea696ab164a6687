"""Workspaces that are verified without an agent, in containers."""

from pathlib import Path

import pytest

from oddish.engine import containers
from oddish.engine.client import ForkServer
from support.engine_kit import write_task
from support.verifying import OF_NOBODY, Verify, write_workspace

pytestmark = pytest.mark.anyio


async def test_a_container_and_one_of_the_verifiers_own_hold_the_workspace(tmp_path: Path) -> None:
    task = write_task(
        tmp_path / "tasks",
        test=f"{OF_NOBODY.format(0)}; test -e /tests/Dockerfile && exit 9; exit 3",
        extra='[verifier]\nenvironment_mode = "separate"\n',
    )
    (task / "environment/Dockerfile").write_text("FROM ubuntu:24.04\nUSER nobody\n")
    (task / "tests/Dockerfile").write_text("FROM ubuntu:24.04\nCOPY --chmod=755 test.sh /tests/test.sh\nUSER nobody\n")
    async with ForkServer() as server:
        verify = Verify(server, tmp_path / "trials", tmp_path / "scratch", environment="docker")
        _, outcome, exit_code = await verify(task, write_workspace(tmp_path / "seed"), owner="oddish-test-verify")
    await containers.release_network()
    assert (outcome.status, outcome.reward, exit_code) == ("success", 0.0, 3)
