"""terminus-2 beside itself: one trial has its shell wait at a here-document, the other does its work."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from oddish.outcome import StrictTrial, from_record, strict_outcome
from oddish.storage.manifest import read_manifest
from support.agent_scripts import TERMINUS_2
from support.deployments import Deployment, RunningWorker
from support.model_servers import Conversation, ModelServer, Script, Turn, Usage

pytestmark = [pytest.mark.long, pytest.mark.anyio, pytest.mark.timeout(400)]

STUCK_EPISODES = 3
SPENT = Usage(100, output=10)


def typing(keystrokes: str) -> Turn:
    said = {"analysis": "", "plan": "", "commands": [{"keystrokes": keystrokes, "duration": 0.1}]}
    return Turn(json.dumps(said), usage=SPENT)


STUCK = Script(
    (typing("cat > hello.txt <<'EOF'\nhello world\n"), typing("  EOF\n"), *[typing("")] * 2 * STUCK_EPISODES)
)


@pytest.mark.skipif(TERMINUS_2.missing is not None, reason=str(TERMINUS_2.missing))
async def test_a_trial_at_a_heredoc_ends_early_and_its_sibling_is_unharmed(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task = make_task(
        "greeting",
        solve="true",
        test="grep -qx 'hello world' /app/hello.txt; echo $((1 - $?)) > /logs/verifier/reward.txt",
    )
    task_id = await deployment.task(task)

    async def submit(index: int, conversation: Conversation) -> str:
        return await deployment.submit(
            task_id,
            index=index,
            agent=TERMINUS_2.name,
            model=TERMINUS_2.model,
            kwargs={**TERMINUS_2.kwargs, TERMINUS_2.base: conversation.url + TERMINUS_2.path},
            secret_env={TERMINUS_2.key: "not-a-key"},
        )

    settings = deployment.settings.model_copy(update={"terminus_stuck_episodes": STUCK_EPISODES})
    with ModelServer().serving() as server:
        at_heredoc, at_work = server.add("stuck", STUCK), server.add("working", TERMINUS_2.script)
        ids = [await submit(index, conversation) for index, conversation in enumerate((at_heredoc, at_work))]
        async with RunningWorker(settings):
            stuck, sibling = await deployment.finished(*ids, seconds=300)

    assert (sibling["status"], sibling["reward"]) == ("success", 1.0)
    assert (stuck["status"], stuck["reward"], stuck["attempts"]) == ("failed", None, 1)
    assert stuck["reasons"] == ["TerminusNoProgressError"]
    assert stuck["error_message"] == (
        "TerminusNoProgressError: "
        "The screen has not changed for 3 episodes and the shell waits for the rest of a command: '>'."
    )
    assert at_heredoc.answered == 2 + STUCK_EPISODES

    [attempt] = await deployment.attempts(stuck["id"])
    outcome = strict_outcome({"a": [StrictTrial("t", from_record(attempt["facts"]["judged"]))]})
    assert (outcome.job_status, outcome.errored) == ("failed", 1)
    manifest = await read_manifest(deployment.store, attempt["artifact_prefix"])
    assert "verifier/reward.txt" not in {file.path for file in manifest.files}
    trajectory = json.loads(
        await deployment.store.get(f"{attempt['artifact_prefix']}/agent/trajectory.json", max_bytes=2**20)
    )
    assert len(trajectory["steps"]) == 1 + at_heredoc.answered
