"""The row about finding tasks: every filter of ``oddish ls``, in a database with many trials."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import history
from bench.databases import KEY, Database, api, database
from bench.figures import Figures, percentile, shown
from bench.options import Options
from bench.progress import say
from bench.routes import AUTHENTICATION, CONNECTION_NAME
from bench.statements import StatementLog, logged
from bench.table import markdown
from oddish.browsing import Browse, parse
from oddish.client import Client
from oddish.db.url import plain

TRIALS = 100_000
TRIALS_PER_TASK = 50
UNIT = "ms"

# Tasks of 50 trials each, in experiments of 20 tasks. What a trial came to is drawn from its number, so that it is the
# same in every run; a task in 40 has trials that wait or run.
STEPS = (
    """
    INSERT INTO users (id, org_id, name, role) SELECT 'u' || i, 'default', 'user ' || i, 'member'
    FROM generate_series(0, 19) AS i
    """,
    """
    INSERT INTO experiments (id, org_id, name, created_by, created_at, last_activity_at)
    SELECT 'e' || i, 'default', 'experiment ' || i, 'u' || i %% 20, now() - make_interval(mins => i),
      now() - make_interval(mins => i)
    FROM generate_series(0, %(tasks)s / 20) AS i
    """,
    """
    INSERT INTO tasks (id, org_id, name, created_by, github_username, tags, link, priority, current_version,
      last_version, next_trial_index, created_at)
    SELECT 'task-' || i || '-0123abcd', 'default', (ARRAY['django', 'numpy', 'linux', 'chess'])[i %% 4 + 1] || '-' || i,
      'u' || i %% 20, CASE WHEN i %% 3 = 0 THEN 'hub-' || i %% 7 END,
      CASE WHEN i %% 2 = 0 THEN '{"benchmark": ""}' ELSE '{}' END::jsonb
        || CASE WHEN i %% 50 = 7 THEN '{"wip": ""}' ELSE '{}' END::jsonb,
      CASE WHEN i %% 10 = 0 THEN 'https://example.com' END, CASE WHEN i %% 5 = 0 THEN 'high' ELSE 'low' END, 1, 1,
      %(per_task)s, now() - make_interval(mins => i)
    FROM generate_series(0, %(tasks)s - 1) AS i
    """,
    """
    INSERT INTO task_versions (id, org_id, task_id, version, content_hash, client_hash, archive_key, archive_bytes,
      definition, created_by)
    SELECT id || '-v1', org_id, id, 1, 'oddish1:' || id, '', 'tasks/' || id, 1000, '{}', created_by FROM tasks
    """,
    """
    INSERT INTO task_experiments (task_id, experiment_id, org_id)
    SELECT 'task-' || i || '-0123abcd', 'e' || i / 20, 'default' FROM generate_series(0, %(tasks)s - 1) AS i
    """,
    """
    INSERT INTO trials (id, org_id, task_id, task_version_id, task_version, experiment_id, trial_index, name, agent,
      model, provider, queue_key, environment, unit_hash, harbor_config, origin, created_by, status, attempts,
      max_attempts, harbor_stage, decided_by_epoch, reward, rewards, result, error_message, input_tokens, output_tokens,
      total_steps, total_tool_calls, tool_counts, duration_seconds, cost_usd, cost_is_estimated, phase_timing,
      has_trajectory, created_at, started_at, finished_at)
    SELECT task || '-' || j, 'default', task, task || '-v1', 1, 'e' || i / 20, j, task || '-' || j, agent,
      CASE WHEN agent <> 'oracle' THEN model END, CASE WHEN agent = 'oracle' THEN 'default' ELSE provider END,
      provider || '/' || model, CASE WHEN r %% 4 = 0 THEN 'local' ELSE 'docker' END, decode(md5(j::text), 'hex'),
      jsonb_build_object('verifier', jsonb_build_object('disable', false)),
      CASE WHEN r %% 20 = 0 THEN 'imported' ELSE 'oddish' END, 'u' || i %% 20, status, 1 + r %% 2, 6,
      CASE WHEN ended THEN 'completed' END, CASE WHEN ended THEN 1 END,
      CASE WHEN status = 'success' THEN (r %% 3) / 2.0 END,
      CASE WHEN ended THEN jsonb_build_object('reward', (r %% 3) / 2.0) END,
      CASE WHEN ended THEN jsonb_build_object('trial_name', task, 'note', repeat(md5(j::text), 12)) END,
      CASE WHEN status = 'failed' THEN 'AgentTimeoutError: the agent took too long' END,
      CASE WHEN ended THEN 10000 + r * 13 %% 90000 END, CASE WHEN ended THEN r * 7 %% 9000 END,
      CASE WHEN traced THEN 5 + r %% 120 END, CASE WHEN traced THEN r %% 60 + r %% 17 + r %% 5 + 3 END,
      CASE WHEN traced THEN jsonb_build_object('bash', 1 + r %% 60, 'edit', 1 + r %% 17, 'read', 1 + r %% 5)
        || CASE WHEN r %% 997 = 0 THEN '{"browser": 1}' ELSE '{}' END::jsonb END,
      CASE WHEN traced THEN 10 + r %% 900 END, CASE WHEN traced THEN 0.01 + r %% 100 / 50.0 END,
      traced AND r %% 2 = 0,
      CASE WHEN ended THEN '{"agent_execution": {"started_at": "2026-01-01T00:00:00Z"}}'::jsonb END,
      traced, now() - make_interval(mins => i), CASE WHEN ended THEN now() - make_interval(mins => i) END,
      CASE WHEN ended THEN now() - make_interval(mins => i) + make_interval(secs => 20 + r %% 1000) END
    FROM (
      SELECT *, status IN ('success', 'failed') AS ended,
        status IN ('success', 'failed') AND agent <> 'oracle' AS traced
      FROM (
        SELECT i, j, 'task-' || i || '-0123abcd' AS task, r,
          (ARRAY['claude-code', 'codex', 'gemini-cli', 'oracle', 'terminus-2'])[j %% 5 + 1] AS agent,
          (ARRAY['gpt-5', 'claude-sonnet-4-5', 'gemini-3-pro', 'grok-4'])[j / 5 %% 4 + 1] AS model,
          (ARRAY['openai', 'anthropic', 'google', 'xai'])[j / 5 %% 4 + 1] AS provider,
          CASE WHEN i %% 40 = 3 AND j < 5 THEN CASE WHEN j < 3 THEN 'queued' ELSE 'running' END
            WHEN i %% 40 = 5 OR r %% 9 = 0 THEN 'failed' ELSE 'success' END AS status
        FROM generate_series(0, %(tasks)s - 1) AS i CROSS JOIN generate_series(0, %(per_task)s - 1) AS j
          CROSS JOIN LATERAL (SELECT abs(hashint4(i * 1000 + j) %% 1000003) AS r) AS drawn
      ) AS chosen
    ) AS known
    """,
)
ASKED: Mapping[str, str] = {
    "none": "",
    "query": "query=django-1",
    "query, 16 needles": "query=" + " OR ".join(f"absent{number} -tag:wip" for number in range(8)),
    "query, all tasks": "query=-absent",
    "tags": "tags=benchmark",
    "tags, absent": "tags=absent",
    "tags_any": "tags_any=wip,absent",
    "tags_none": "tags_none=benchmark",
    "author": "author=user 3",
    "statuses, running": "statuses=running",
    "statuses, failed": "statuses=failed",
    "statuses, completed": "statuses=completed",
    "statuses, pending": "statuses=pending",
    "priorities": "priorities=high",
    "created_after": "created_after=2000-01-01",
    "created_before": "created_before=2000-01-01",
    "has_link": "has_link=true",
    "run_analysis": "run_analysis=true",
    "run_probe": "run_probe=true",
    "experiment_ids": "experiment_ids=experiment 40",
    "models": "models=openai/gpt-5",
    "models, without provider": "models=grok-4",
    "models, absent": "models=absent",
    "agents": "agents=codex",
    "agents, absent": "agents=absent",
    "agent_models": "agent_models=codex:openai/gpt-5",
    "agent_models, absent": "agent_models=codex:absent",
    "providers": "providers=xai",
    "environments": "environments=local",
    "environments, absent": "environments=gke",
    "trial_statuses, success": "trial_statuses=success",
    "trial_statuses, skipped": "trial_statuses=skipped",
    "origins": "origins=imported",
    "trial_is_probe": "trial_is_probe=true",
    "harbor_shas": "harbor_shas=absent",
    "harbor_stages": "harbor_stages=completed",
    "harbor_stages, absent": "harbor_stages=cancelled",
    "trial_finished_after": "trial_finished_after=2100-01-01",
    "trial_finished_before": "trial_finished_before=2000-01-01",
    "min_steps": "min_steps=100",
    "min_steps, absent": "min_steps=1000",
    "max_steps, absent": "max_steps=1",
    "min_duration_seconds": "min_duration_seconds=905",
    "max_duration_seconds, absent": "max_duration_seconds=1",
    "min_tool_calls": "min_tool_calls=75",
    "max_tool_calls, absent": "max_tool_calls=1",
    "tool_names": "tool_names=bash",
    "tool_names, rare": "tool_names=browser",
    "tool_names, absent": "tool_names=absent",
    "tool_count_mins": 'tool_count_mins={"bash": 5}',
    "tool_count_mins, absent": 'tool_count_mins={"bash": 61}',
    "tool_count_mins, absent and many": 'tool_count_mins={"bash": 100}',
    "min_tokens": "min_tokens=100000",
    "max_tokens, absent": "max_tokens=1",
    "reward_min": "reward_min=1",
    "reward_min, absent": "reward_min=2",
    "reward_max, absent": "reward_max=-1",
    "min_attempts, absent": "min_attempts=3",
    "has_error": "has_error=true",
    "has_trajectory": "has_trajectory=true",
    "trial_metric_match, all": "trial_metric_match=all&agents=codex&max_steps=20",
    "trial_metric_match, all tools": 'trial_metric_match=all&tool_names=bash&tool_count_mins={"bash": 5}',
    "total_trials_min, absent": "total_trials_min=51",
    "completed_count_min": "completed_count_min=49",
    "failed_count_min": "failed_count_min=12",
    "pass_count_min": "pass_count_min=25",
    "partial_count_min": "partial_count_min=25",
    "fail_count_min": "fail_count_min=25",
    "harness_count_min": "harness_count_min=12",
    "avg_score_min, absent": "avg_score_min=101",
    "pass_rate_max, absent": "pass_rate_max=-1",
    "total_tokens_min, absent": "total_tokens_min=1000000000",
    "runtime_total_max, absent": "runtime_total_max=1&total_trials_min=1",
    "runtime_avg_min, absent": "runtime_avg_min=100000",
    "compare_by": "compare_by=agent&compare_a=codex&compare_b=claude-code&compare_margin=2",
    "compare_by, median": "compare_by=model&compare_a=xai/grok-4&compare_b=openai/gpt-5&compare_metric=runtime"
    "&compare_agg=median&compare_margin=5000",
    "top_by": "top_by=model&top_value=xai/grok-4&top_metric=tokens",
    "top_by, absent": "top_by=agent&top_value=absent",
    "or_groups": 'or_groups=[{"agents": "absent"}, {"min_steps": 1000}, {"tags": "absent"}]',
    "sort, cost_desc": "sort=cost_desc",
    "sort, avg_score_asc": "sort=avg_score_asc",
    "sort, runtime_avg_desc": "sort=runtime_avg_desc&limit=100",
    "limit": "limit=100",
    "offset": "offset=1900&limit=100",
    "count_only": "count_only=true&agents=codex&min_steps=100",
}
"""Of each filter what is common, and what no task has: then all of them are looked at. As parameters of a request."""


@dataclass(frozen=True)
class Search:
    milliseconds: Sequence[float]
    processor: Sequence[float]
    """Milliseconds of PostgreSQL's processor, which other load does not blur."""
    statements: int


def browsing(options: Options) -> Figures:
    trials = 5000 if options.quick else TRIALS
    with database() as where, api(where) as url, Client(url, KEY) as client:
        say(f"filling in {trials} trials")
        fill(where, trials=trials)
        floor, found = measured(where, client, rounds=options.rounds(20, 2))
    slowest = max(found, key=lambda name: percentile(found[name].milliseconds, 0.95))
    most = max(search.statements for search in found.values())
    return Figures(
        found[slowest].milliseconds,
        floor,
        further={"statements": most},
        notes=[f"the slowest is {slowest}", f"each filter:\n{listing(found)}"],
    )


def fill(where: Database, *, trials: int) -> None:
    """Let there be as many trials. The organisation has to exist."""
    bounds = {"tasks": trials // TRIALS_PER_TASK, "per_task": TRIALS_PER_TASK}
    with where.connect() as connection:
        with connection.transaction():
            for step in STEPS:
                connection.execute(step.encode(), bounds)
        history.analyse(connection)


def measured(where: Database, client: Client, *, rounds: int) -> tuple[Sequence[float], Mapping[str, Search]]:
    """Of ``/health`` and of every filter, by turns, after each has been asked once."""
    asked = {name: parse(pairs(text)) for name, text in ASKED.items()}
    floor: list[float] = []
    times: dict[str, list[float]] = {name: [] for name in asked}
    processor: dict[str, list[float]] = {name: [] for name in asked}
    with logged(where.log, plain(where.url)) as log:
        counts = {name: _statements(client, log, wanted) for name, wanted in asked.items()}
        backends = log.processes(CONNECTION_NAME)
    for _ in range(rounds):
        floor.append(_timed(client, None))
        for name, wanted in asked.items():
            before = _processor(backends)
            times[name].append(_timed(client, wanted))
            processor[name].append(_processor(backends) - before)
    return floor, {name: Search(times[name], processor[name], counts[name]) for name in asked}


def pairs(text: str) -> Iterable[tuple[str, str]]:
    for part in filter(None, text.split("&")):
        name, _, value = part.partition("=")
        yield name, value


def listing(found: Mapping[str, Search]) -> str:
    lines = [
        (
            name,
            shown(percentile(search.milliseconds, 0.5), UNIT),
            shown(percentile(search.milliseconds, 0.95), UNIT),
            shown(percentile(search.processor, 0.95), UNIT),
            str(search.statements),
        )
        for name, search in found.items()
    ]
    return markdown(("filter", "p50", "p95", "processor of PostgreSQL, p95", "statements"), lines)


def _timed(client: Client, wanted: Browse | None) -> float:
    began = time.perf_counter()
    _ask(client, wanted)
    return (time.perf_counter() - began) * 1000


def _processor(processes: Iterable[int]) -> float:
    """Milliseconds that these processes have run."""
    used = [Path(f"/proc/{process}/schedstat").read_text().split()[0] for process in processes]
    return sum(map(int, used)) / 1e6


def _ask(client: Client, wanted: Browse | None) -> None:
    """As ``oddish ls`` does it."""
    if wanted is None:
        client.health()
    elif wanted.count_only:
        client.browsing.count(wanted)
    else:
        client.browsing.page(wanted)


def _statements(client: Client, log: StatementLog, wanted: Browse) -> int:
    log.mark()
    _ask(client, wanted)
    found = log.since(log.processes(CONNECTION_NAME))
    return sum(not statement.startswith(AUTHENTICATION) for statement in found)
