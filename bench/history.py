"""A database with many finished trials, as years of use would leave it."""

import psycopg

from bench.databases import Database
from oddish.accounting.folding import fold_all
from oddish.db.engine import connect

TRIALS_PER_TASK = 20
TASKS_PER_EXPERIMENT = 100
WEEK_TASKS = 5_000
"""Whose attempts have ended within one week."""

# Each experiment has tasks of its own, each task one version; of its trials one is still queued and the rest have
# ended. All of it belongs to the organisation of the first key.
STEPS = (
    """
    INSERT INTO users (id, org_id, name, role) SELECT 'u' || i, 'default', 'user ' || i, 'member'
    FROM generate_series(0, 19) AS i ON CONFLICT DO NOTHING
    """,
    """
    INSERT INTO experiments (id, org_id, name, created_by, user_name, created_at, last_activity_at)
    SELECT 'e' || i, 'default', 'experiment ' || i, 'u' || (i %% 20), 'user ' || (i %% 20),
      now() - make_interval(mins => i), now() - make_interval(mins => i)
    FROM generate_series(%(first)s / %(per_experiment)s, (%(last)s - 1) / %(per_experiment)s) AS i
    ON CONFLICT DO NOTHING
    """,
    """
    INSERT INTO tasks (id, org_id, name, created_by, user_name, current_version, last_version, next_trial_index,
      created_at)
    SELECT 't-' || i, 'default', 't' || i, 'u' || (i %% 20), 'user ' || (i %% 20), 1, 1, %(per_task)s,
      now() - make_interval(secs => i)
    FROM generate_series(%(first)s, %(last)s - 1) AS i
    """,
    """
    INSERT INTO task_versions (id, org_id, task_id, version, content_hash, client_hash, archive_key, archive_bytes,
      definition, created_by)
    SELECT 't-' || i || '-v1', 'default', 't-' || i, 1, 'oddish1:' || i, '', 'tasks/' || i, 1000, '{}', 'u' || (i %% 20)
    FROM generate_series(%(first)s, %(last)s - 1) AS i
    """,
    """
    INSERT INTO task_experiments (task_id, experiment_id, org_id)
    SELECT 't-' || i, 'e' || i / %(per_experiment)s, 'default' FROM generate_series(%(first)s, %(last)s - 1) AS i
    """,
    """
    INSERT INTO trials (id, org_id, task_id, task_version_id, task_version, experiment_id, trial_index, name, agent,
      model, provider, queue_key, environment, unit_hash, created_by, status, attempts, max_attempts, harbor_stage,
      decided_by_epoch, reward, rewards, result, input_tokens, output_tokens, cost_usd, phase_timing, created_at,
      started_at, finished_at)
    SELECT 't-' || i || '-' || j, 'default', 't-' || i, 't-' || i || '-v1', 1, 'e' || i / %(per_experiment)s, j,
      't-' || i || '-' || j, 'claude-code', 'anthropic/model-' || j %% 4, 'anthropic', 'anthropic/model-' || j %% 4,
      'docker', decode(md5(j::text), 'hex'), 'u' || (i %% 20),
      CASE WHEN j = 0 THEN 'queued' WHEN j %% 7 = 0 THEN 'failed' ELSE 'success' END, least(j, 1), 6,
      CASE WHEN j > 0 THEN 'trial_ended' END, nullif(least(j, 1), 0),
      CASE WHEN j > 0 THEN (i + j) %% 2 END, CASE WHEN j > 0 THEN jsonb_build_object('reward', (i + j) %% 2) END,
      CASE WHEN j > 0 THEN jsonb_build_object('trial_name', 't-' || i, 'note', repeat(md5(i::text), 12)) END,
      10000, 2000, 0.1, '{"agent_execution": 120.5, "verifier": 3.2}', now() - interval '1 day',
      CASE WHEN j > 0 THEN now() - interval '1 day' END, CASE WHEN j > 0 THEN now() - interval '23 hours' END
    FROM generate_series(%(first)s, %(last)s - 1) AS i CROSS JOIN generate_series(0, %(per_task)s - 1) AS j
    """,
    """
    INSERT INTO attempts (trial_id, epoch, org_id, job_id, claim_id, worker_id, state, stage, status, started_at,
      finished_at, input_tokens, cache_tokens, output_tokens, cost_usd, cost_is_estimated, model)
    SELECT 't-' || i || '-' || j, epoch, 'default', 0, gen_random_uuid(), 'w', 'finished', 'trial_ended',
      CASE WHEN j %% 7 = 0 OR epoch < 1 + again THEN 'failed' ELSE 'success' END, ended - interval '1 hour', ended,
      10000, 5000, 2000, CASE WHEN j %% 19 > 0 THEN 0.1 END, j %% 2 = 0, 'anthropic/model-' || j %% 4
    FROM generate_series(%(first)s, %(last)s - 1) AS i CROSS JOIN generate_series(1, %(per_task)s - 1) AS j
    CROSS JOIN LATERAL (SELECT CAST(j = 1 AS integer) AS again) AS tried
    CROSS JOIN LATERAL generate_series(1, 1 + again) AS epoch
    CROSS JOIN LATERAL (
      SELECT now() - interval '167 hours' * (i %% %(tasks)s) / %(tasks)s + epoch * interval '1 minute' AS ended
    ) AS times
    """,
)

# Attempts that have ended within the hour, since the last upkeep.
JUST_ENDED = """
INSERT INTO attempts (trial_id, epoch, org_id, job_id, claim_id, worker_id, state, stage, status, finished_at,
  input_tokens, output_tokens, cost_usd, cost_is_estimated, model)
SELECT id, 9, org_id, 0, gen_random_uuid(), 'w', 'finished', 'trial_ended', 'success', now(), 10000, 2000, 0.1, true,
  model
FROM trials WHERE status <> 'queued' ORDER BY id LIMIT %(just_ended)s ON CONFLICT DO NOTHING
"""


def fill(where: Database, *, before: int, trials: int) -> None:
    """Let there be ``trials`` trials, where there are ``before``. The organisation has to exist."""
    bounds = {
        "first": before // TRIALS_PER_TASK,
        "last": trials // TRIALS_PER_TASK,
        "per_task": TRIALS_PER_TASK,
        "per_experiment": TASKS_PER_EXPERIMENT,
        "tasks": WEEK_TASKS,
    }
    with where.connect() as connection:
        with connection.transaction():
            for step in STEPS:
                connection.execute(step.encode(), bounds)
        analyse(connection)


async def keep_up(where: Database, *, trials: int) -> None:
    """Let upkeep have added up all but the attempts that have ended since, one for 50 of the ``trials``."""
    engine = connect(where.url, role="bench")
    await fold_all(engine)
    await engine.dispose()
    with where.connect() as connection:
        connection.execute(JUST_ENDED.encode(), {"just_ended": trials // 50})
        analyse(connection)


def analyse(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute("VACUUM ANALYZE")


def names(trials: int) -> dict[str, str]:
    """What stands for the parameters of routes: in the middle of what was filled in."""
    task = trials // TRIALS_PER_TASK // 2
    return {
        "task_id": f"t-{task}",
        "version": "1",
        "index": "1",
        "trial_id": f"t-{task}-1",
        "experiment_id": f"e{task // TASKS_PER_EXPERIMENT}",
        "user": "u3",
    }
