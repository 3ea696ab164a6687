"""Calls of tools are kept with the trial that made them, and found in the records of those that ended before that."""

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.trials.counting import count_tools
from support.queues import ORG

pytestmark = pytest.mark.anyio

TRAJECTORY = '{"tool_calls": 3, "tool_calls_by_name": {"bash": 2, "edit": 1}, "duration_sec": 4.5}'
# By the number of the trial: what its deciding attempt recorded, and what is known of it afterwards.
RECORDS = (
    (f'{{"trajectory": {TRAJECTORY}}}', (3, {"bash": 2, "edit": 1}, 4.5)),
    ('{"trajectory": {"tool_calls": 0, "tool_calls_by_name": {}, "duration_sec": null}}', (0, {}, None)),
    ('{"trajectory": {"tool_calls": 2, "tool_calls_by_name": "damaged"}}', (2, None, None)),
    ('{"trajectory": {"tool_calls": "many"}}', (None, None, None)),
    ("{}", (None, None, None)),
    (None, (None, None, None)),
)


async def test_what_was_recorded_before_is_counted_once(engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oddish.trials.counting.COUNTED_AT_A_TIME", 2)
    async with engine.begin() as connection:
        for statement in SETTING:
            await connection.execute(text(statement), {"org": ORG})
        for index, (facts, _) in enumerate(RECORDS):
            for statement in TRIAL:
                named = {"org": ORG, "id": f"t-{index}", "index": index, "facts": facts}
                await connection.execute(text(statement), named)
    counts = [await count_tools(engine) for _ in range(2)]
    async with engine.connect() as connection:
        rows = await connection.execute(
            text("SELECT total_tool_calls, tool_counts, duration_seconds FROM trials ORDER BY trial_index")
        )
        assert [tuple(row) for row in rows] == [known for _, known in RECORDS]
    assert counts == [3, 0]


SETTING = (
    "INSERT INTO organisations (id, name) VALUES (:org, :org)",
    "INSERT INTO users (id, org_id, name, role) VALUES ('u', :org, 'u', 'admin')",
    "INSERT INTO experiments (id, org_id, name, created_by) VALUES ('e', :org, 'e', 'u')",
    "INSERT INTO tasks (id, org_id, name, created_by, current_version) VALUES ('t', :org, 't', 'u', 1)",
    "INSERT INTO task_versions (id, org_id, task_id, version, content_hash, client_hash, archive_key, archive_bytes, "
    "definition, created_by) VALUES ('t-v1', :org, 't', 1, '', '', '', 0, '{}', 'u')",
)
TRIAL = (
    "INSERT INTO trials (id, org_id, task_id, task_version_id, task_version, experiment_id, trial_index, name, agent, "
    "provider, queue_key, environment, unit_hash, created_by, max_attempts, has_trajectory, decided_by_epoch) VALUES "
    "(:id, :org, 't', 't-v1', 1, 'e', :index, :id, 'codex', 'openai', '', 'local', '', 'u', 6, true, 2)",
    "INSERT INTO attempts (trial_id, epoch, org_id, job_id, claim_id, worker_id, facts) VALUES "
    "(:id, 1, :org, 0, gen_random_uuid(), 'w', '{\"trajectory\": {\"tool_calls\": 99}}'), "
    "(:id, 2, :org, 0, gen_random_uuid(), 'w', CAST(:facts AS jsonb))",
)
