"""The baseline gate: trials of other agents wait for those of oracle and nop on their task, and may be skipped.

Whether it opens is decided in the database, by the transaction that ends the last trial of oracle and nop: each of
oracle has to earn more than 0, each of nop exactly 0.
"""

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish import ids
from oddish.errors import InvalidInput
from oddish.queue.keys import BASELINE_AGENTS
from oddish.trials.units import Unit

# Keeps trials of oracle and nop from ending unseen until the gate that waits for them can be seen.
# Locks: jobs (shared, by id).
HOLD_BASELINES = text("""
SELECT FROM jobs WHERE kind = 'trial' AND subject_id IN (SELECT id FROM baselines(:version_id, :experiment_id))
  AND state IN ('held', 'ready', 'scheduled', 'running')
ORDER BY id FOR SHARE
""")

# Makes a group with a gate, if there is anything that can open it. Locks: none held by others.
ADD_GATE = text("""
INSERT INTO job_groups (id, org_id, gate_version_id, gate_experiment_id)
SELECT :id, :org_id, :version_id, :experiment_id WHERE EXISTS (SELECT FROM baselines(:version_id, :experiment_id))
RETURNING id
""")


class NothingToJudge(InvalidInput):
    """A gate over trials whose rewards nobody finds out."""

    code = "nothing_to_judge"


def is_baseline(entry: Unit) -> bool:
    return entry.agent in BASELINE_AGENTS


def check_gate(units: Sequence[Unit]) -> None:
    """Refuse a gate that could only wait for trials without rewards. Raises ``NothingToJudge``."""
    baselines = [entry for entry in units if is_baseline(entry)]
    if baselines and len(baselines) < len(units) and any(entry.unverified for entry in baselines):
        raise NothingToJudge(
            "The baseline gate judges the rewards of oracle and nop, and verification is disabled, so there are none.",
            fix="Leave out gate_baselines, or verify the trials.",
        )


async def add_gate(connection: AsyncConnection, org_id: str, version_id: str, experiment_id: str) -> str | None:
    """Make the group of new jobs that wait for the trials of oracle and nop of a task version in an experiment.

    Those that the caller's transaction adds are there already. None when there are none, so nothing to judge by.
    """
    place = {"version_id": version_id, "experiment_id": experiment_id}
    await connection.execute(HOLD_BASELINES, place)
    new = {"id": ids.row_id("gate"), "org_id": org_id, **place}
    made: str | None = await connection.scalar(ADD_GATE, new)
    return made
