"""An attempt in the sandbox is told as a trace, from what its agent left."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from support.deployments import EXPERIMENT, Deployment, RunningWorker
from support.trace_receiver import attributes, receiver

pytestmark = [pytest.mark.long, pytest.mark.anyio]

STEP = {
    "step_id": 1,
    "source": "agent",
    "message": "I look around.",
    "model_name": "gpt-5",
    "tool_calls": [{"tool_call_id": "1", "function_name": "ls", "arguments": {"path": "/app"}}],
    "metrics": {"prompt_tokens": 100, "completion_tokens": 20, "cached_tokens": 50},
}
TRAJECTORY = {"schema_version": "ATIF-v1.8", "agent": {"name": "oracle", "version": "1"}, "steps": [STEP]}


async def test_a_trial_leaves_a_trace(
    deployment: Deployment, make_task: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = make_task("traced", solve=f"cat > /logs/agent/trajectory.json <<'END'\n{json.dumps(TRAJECTORY)}\nEND")
    trial_id = await deployment.submit(await deployment.task(task))
    async with deployment.database.begin() as connection:
        await connection.execute(text("UPDATE trials SET correlation_id = 'evals-42'"))
    settings = deployment.settings.model_copy(update={"tracing": "contents"})
    with receiver() as there:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", there.url)
        async with RunningWorker(settings):
            [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["reward"]) == ("success", 1.0)
    root, agent = there.named("trial traced"), there.named("invoke_agent oracle")
    assert {span.name for span in there.spans if span.parent_span_id == root.span_id} == {
        "environment_setup",
        "agent_setup",
        "invoke_agent oracle",
        "verifier",
    }
    told = attributes(root)
    assert (told["oddish.trial.id"], told["oddish.status"], told["oddish.reward"]) == (trial_id, "success", 1.0)
    assert {attributes(span)["session.id"] for span in there.spans} == {EXPERIMENT}
    assert {attributes(span)["oddish.correlation_id"] for span in there.spans} == {"evals-42"}
    call = there.named("chat gpt-5")
    assert call.parent_span_id == agent.span_id
    assert attributes(call)["gen_ai.usage.cache_read.input_tokens"] == 50
    assert there.named("execute_tool ls").parent_span_id == agent.span_id
    assert "I look around." in str(attributes(call)["gen_ai.output.messages"])
