"""Tasks and trials of many kinds, and which of them pass a filter, said in plain Python."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import fmean, median
from typing import Any

from psycopg.types.json import Jsonb

from oddish.browsing import Filter, Needle

from .serving import Server

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
USERS = {"admin": "admin", "u1": "Ann", "u2": "Bob"}
EXPERIMENTS = {"e1": "first", "e2": "second"}
TAGS = {"web": "", "50+_off": "", "wip": "", "Web": "", "size": "big", "kind": "shopping"}


@dataclass(frozen=True)
class TrialFacts:
    id: str
    index: int
    version: int
    agent: str
    model: str | None
    provider: str
    environment: str
    status: str
    origin: str
    probe: bool
    gone: bool
    attempts: int
    stage: str | None
    sha: str | None
    reward: float | None
    input_tokens: int | None
    output_tokens: int | None
    steps: int | None
    tools: dict[str, int] | None
    duration: float | None
    cost: float | None
    error: str | None
    trajectory: bool
    started: datetime | None
    finished: datetime | None
    experiment: str

    @property
    def tokens(self) -> int | None:
        known = [count for count in (self.input_tokens, self.output_tokens) if count is not None]
        return sum(known) if known else None

    @property
    def calls(self) -> int | None:
        return None if self.tools is None else sum(self.tools.values())

    @property
    def runtime(self) -> float | None:
        return (self.finished - self.started).total_seconds() if self.started and self.finished else None

    @property
    def scored(self) -> float | None:
        return self.reward if self.status == "success" else None


@dataclass(frozen=True)
class TaskFacts:
    id: str
    name: str
    owner: str
    user_name: str | None
    github: str | None
    tags: dict[str, str]
    link: str | None
    priority: str
    run_analysis: bool
    run_probe: bool
    version: int
    created: datetime
    experiments: tuple[str, ...]
    deleted: bool
    trials: list[TrialFacts] = field(default_factory=list)

    @property
    def author(self) -> str:
        return self.user_name or USERS[self.owner]

    def counted(self, *, probes: bool = False) -> list[TrialFacts]:
        return [one for one in self.trials if one.version == self.version and one.probe == probes and not one.gone]


def populate(server: Server, *, tasks: int, rng: random.Random) -> list[TaskFacts]:
    made = [_task(number, rng) for number in range(tasks)]
    for user in ("u1", "u2"):
        server.sql("INSERT INTO users (id, org_id, name, role) VALUES (%s, 'default', %s, 'member')", user, USERS[user])
    for experiment, name in EXPERIMENTS.items():
        server.sql(
            "INSERT INTO experiments (id, org_id, name, created_by) VALUES (%s, 'default', %s, 'admin')",
            experiment,
            name,
        )
    with server.database.transaction():
        for task in made:
            _store(server, task)
    server.sql("VACUUM ANALYZE trials")
    return made


def _task(number: int, rng: random.Random) -> TaskFacts:
    name = f"{rng.choice(['shop', 'Slow query', '100%_done', 'a/b'])} {number}"
    task = TaskFacts(
        id=f"t-{number:08x}",
        name=name,
        owner=rng.choice([*USERS]),
        user_name=rng.choice([None, None, "Eve_1"]),
        github=rng.choice([None, "hub-ann"]),
        tags={name: value for name, value in TAGS.items() if rng.random() < 0.3},
        link=rng.choice([None, "https://example.com"]),
        priority=rng.choice(["low", "high"]),
        run_analysis=rng.random() < 0.5,
        run_probe=rng.random() < 0.5,
        version=rng.choice([1, 1, 2]),
        created=EPOCH + timedelta(hours=number),
        experiments=tuple(experiment for experiment in EXPERIMENTS if rng.random() < 0.5),
        deleted=rng.random() < 0.1,
    )
    task.trials.extend(_trial(task, index, rng) for index in range(rng.choice([0, 1, 3, 6])))
    return task


def _trial(task: TaskFacts, index: int, rng: random.Random) -> TrialFacts:
    agent = rng.choice(["oracle", "codex", "claude-code"])
    provider, model = ("default", None) if agent == "oracle" else rng.choice([("openai", "gpt-5"), ("x", "grok_4")])
    status = rng.choice(["queued", "running", "retrying", "success", "success", "success", "failed", "skipped"])
    started = EPOCH + timedelta(days=rng.randrange(9)) if status != "queued" else None
    ended = status in ("success", "failed")
    tools = (
        {name: rng.randrange(1, 9) for name in ("bash", "edit") if rng.random() < 0.6} if rng.random() < 0.6 else None
    )
    return TrialFacts(
        id=f"{task.id}-{index}",
        index=index,
        version=rng.randint(1, task.version),
        agent=agent,
        model=model and f"{provider}/{model}",
        provider=provider,
        environment=rng.choice(["local", "docker"]),
        status=status,
        origin=rng.choice(["oddish", "imported"]),
        probe=rng.random() < 0.1,
        gone=rng.random() < 0.1,
        attempts=rng.randrange(4),
        stage=rng.choice([None, "completed", "cancelled"]),
        sha=rng.choice([None, None, "abc"]),
        reward=rng.choice([None, 0.0, 0.5, 1.0]) if ended else None,
        input_tokens=rng.choice([None, 100, 2000]),
        output_tokens=rng.choice([None, 50]),
        steps=rng.choice([None, 3, 30]),
        tools=tools,
        duration=rng.choice([None, 12.5, 120.0]),
        cost=rng.choice([None, 0.25, 2.0]),
        error=rng.choice([None, "it broke"]),
        trajectory=tools is not None,
        started=started,
        finished=started + timedelta(seconds=rng.choice([10, 100])) if started and ended else None,
        experiment=rng.choice(task.experiments or ("e1",)),
    )


def _store(server: Server, task: TaskFacts) -> None:
    server.sql(
        "INSERT INTO tasks (id, org_id, name, created_by, user_name, github_username, tags, link, priority, "
        "run_analysis, run_probe, current_version, last_version, created_at, deleted_at) VALUES "
        "(%s, 'default', %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 2, %s, %s)",
        *(task.id, task.name, task.owner, task.user_name, task.github, Jsonb(task.tags)),
        *(task.link, task.priority, task.run_analysis, task.run_probe, task.version, task.created),
        EPOCH if task.deleted else None,
    )
    for version in range(1, task.version + 1):
        server.sql(
            "INSERT INTO task_versions (id, org_id, task_id, version, content_hash, client_hash, archive_key, "
            "archive_bytes, definition, created_by) VALUES (%s, 'default', %s, %s, '', '', '', 0, '{}', 'admin')",
            *(f"{task.id}-v{version}", task.id, version),
        )
    for experiment in task.experiments:
        server.sql(
            "INSERT INTO task_experiments (task_id, experiment_id, org_id) VALUES (%s, %s, 'default')",
            *(task.id, experiment),
        )
    for one in task.trials:
        server.sql(
            "INSERT INTO trials (id, org_id, task_id, task_version_id, task_version, experiment_id, trial_index, name, "
            "agent, model, provider, queue_key, environment, unit_hash, created_by, max_attempts, status, origin, "
            "is_probe, deleted_at, attempts, harbor_stage, harbor_config, reward, input_tokens, output_tokens, "
            "total_steps, tool_counts, total_tool_calls, duration_seconds, cost_usd, cost_is_estimated, error_message, "
            "has_trajectory, started_at, finished_at) VALUES (%s, 'default', %s, %s, %s, %s, %s, %s, %s, %s, %s, '', "
            "%s, '', 'admin', 6, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            *(one.id, task.id, f"{task.id}-v{one.version}", one.version, one.experiment, one.index, one.id),
            *(one.agent, one.model, one.provider, one.environment, one.status, one.origin, one.probe),
            *(EPOCH if one.gone else None, one.attempts, one.stage, Jsonb({"sha": one.sha} if one.sha else {})),
            *(one.reward, one.input_tokens, one.output_tokens, one.steps),
            *(None if one.tools is None else Jsonb(one.tools), one.calls, one.duration),
            *(one.cost, None if one.cost is None else one.cost > 1, one.error, one.trajectory, one.started),
            one.finished,
        )


def passing(tasks: Iterable[TaskFacts], wanted: Filter) -> list[TaskFacts]:
    """Those that pass, the newest first."""
    found = [task for task in tasks if not task.deleted and passes(task, wanted)]
    return sorted(found, key=lambda task: task.created, reverse=True)


def passes(task: TaskFacts, wanted: Filter) -> bool:
    alternatives = wanted.or_groups
    return (
        all(_of_task(task, wanted))
        and _of_trials(task, wanted)
        and all(_of_figures(task, wanted))
        and all(_compared(task, wanted))
        and (not alternatives or any(passes(task, group) for group in alternatives))
    )


def _of_task(task: TaskFacts, wanted: Filter) -> Iterable[bool]:
    names = {name.lower() for name in wanted.author}
    authors = {task.author.lower(), (task.github or "").lower()}
    named = {*task.experiments, *(EXPERIMENTS[experiment] for experiment in task.experiments)}
    if wanted.query is not None:
        yield any(all(_holds(task, needle) for needle in group) for group in wanted.query.alternatives)
    yield set(wanted.tags) <= tagged(task)
    yield not wanted.tags_any or bool(set(wanted.tags_any) & tagged(task))
    yield not set(wanted.tags_none) & tagged(task)
    yield not names or bool(names & authors) or ("me" in names and task.owner == "admin")
    yield not wanted.statuses or status(task) in wanted.statuses
    yield not wanted.priorities or task.priority in wanted.priorities
    yield wanted.created_after is None or task.created >= wanted.created_after
    yield wanted.created_before is None or task.created < wanted.created_before
    yield wanted.has_link in (None, task.link is not None)
    yield wanted.run_analysis in (None, task.run_analysis)
    yield wanted.run_probe in (None, task.run_probe)
    yield not wanted.experiment_ids or bool(named & set(wanted.experiment_ids))


def _holds(task: TaskFacts, needle: Needle) -> bool:
    text = needle.text.lower()
    by_author = any(text in name.lower() for name in (task.author, task.github or ""))
    shown = (task.name, *task.tags, *task.tags.values())
    found = {
        "tag": needle.text in tagged(task),
        "author": by_author,
        "any": by_author or any(text in part.lower() for part in shown),
    }
    return found[needle.place] is needle.wanted


def tagged(task: TaskFacts) -> set[str]:
    """All ways to name a tag of the task."""
    return {*task.tags, *(f"{name}={value}" for name, value in task.tags.items() if value)}


def status(task: TaskFacts) -> str:
    states = [one.status for one in task.counted()]
    if all(state == "queued" for state in states):
        return "pending"
    if {"queued", "running", "retrying"} & set(states):
        return "running"
    return "completed" if "success" in states else "failed"


def _of_trials(task: TaskFacts, wanted: Filter) -> bool:
    scope, metrics = _scope(wanted), _metrics(wanted)
    if not scope and not metrics and wanted.trial_is_probe is None:
        return True
    if wanted.experiment_ids:
        scope.append(lambda one: bool({one.experiment, EXPERIMENTS[one.experiment]} & set(wanted.experiment_ids)))
    counted = task.counted(probes=bool(wanted.trial_is_probe))
    looked_at = [one for one in counted if all(condition(one) for condition in scope)]
    match = all if wanted.match_all else any
    return bool(looked_at) and match(all(condition(one) for condition in metrics) for one in looked_at)


type Condition = Callable[[TrialFacts], bool]


def model_names(model: str) -> set[str]:
    """By which filters find it: with its provider, and without."""
    return {model, model.partition("/")[2], model.rpartition("/")[2]}


def _scope(wanted: Filter) -> list[Condition]:
    found: list[Condition] = []
    for values, read in (
        (wanted.agents, lambda one: one.agent),
        (wanted.agent_models, lambda one: f"{one.agent}:{one.model or ''}"),
        (wanted.providers, lambda one: one.provider),
        (wanted.environments, lambda one: one.environment),
        (wanted.trial_statuses, lambda one: one.status),
        (wanted.origins, lambda one: one.origin),
        (wanted.harbor_stages, lambda one: one.stage),
        (wanted.harbor_shas, lambda one: one.sha),
    ):
        if values:
            found.append(lambda one, values=values, read=read: read(one) in values)  # type: ignore[misc]
    if wanted.models:
        found.append(lambda one: bool(model_names(one.model or "") & {*wanted.models}))
    after, before = wanted.trial_finished_after, wanted.trial_finished_before
    if after:
        found.append(lambda one: one.finished is not None and one.finished >= after)
    if before:
        found.append(lambda one: one.finished is not None and one.finished < before)
    return found


def _metrics(wanted: Filter) -> list[Condition]:
    found: list[Condition] = []
    for least, most, read in (
        (wanted.min_steps, wanted.max_steps, lambda one: one.steps),
        (wanted.min_duration_seconds, wanted.max_duration_seconds, lambda one: one.duration),
        (wanted.min_tool_calls, wanted.max_tool_calls, lambda one: one.calls),
        (wanted.min_tokens, wanted.max_tokens, lambda one: one.tokens),
        (wanted.reward_min, wanted.reward_max, lambda one: one.reward),
        (wanted.min_attempts, None, lambda one: one.attempts),
    ):
        if (least, most) != (None, None):
            found.append(lambda one, least=least, most=most, read=read: _within(read(one), least, most))  # type: ignore[misc]
    minimums = dict.fromkeys(wanted.tool_names, 1) | dict(wanted.tool_count_mins)
    if minimums:
        found.append(lambda one: all((one.tools or {}).get(name, 0) >= least for name, least in minimums.items()))
    if wanted.has_error is not None:
        found.append(lambda one: (one.error is not None) == wanted.has_error)
    if wanted.has_trajectory is not None:
        found.append(lambda one: one.trajectory == wanted.has_trajectory)
    return found


def _within(value: float | None, least: float | None, most: float | None) -> bool:
    return value is not None and (least is None or value >= least) and (most is None or value <= most)


def figures(task: TaskFacts) -> dict[str, float | None]:
    counted = task.counted()
    rewards = [one.scored for one in counted if one.scored is not None]
    earned = [one.scored for one in counted if one.scored is not None and one.agent != "oracle"]
    runtimes = [one.runtime for one in counted if one.runtime is not None]
    return {
        "total": len(counted),
        "completed": sum(one.status == "success" for one in counted),
        "failed": sum(one.status == "failed" for one in counted),
        "errors": sum(one.status == "failed" and one.stage != "cancelled" for one in counted),
        "passed": rewards.count(1),
        "partial": rewards.count(0.5),
        "unsolved": rewards.count(0),
        "avg_score": 100 * fmean(earned) if earned else None,
        "pass_rate": 100 * earned.count(1) / len(earned) if earned else None,
        "total_tokens": sum(one.tokens or 0 for one in counted),
        "runtime_total": sum(runtimes),
        "runtime_avg": fmean(runtimes) if runtimes else None,
        "cost": sum(one.cost or 0 for one in counted) if any(one.cost is not None for one in counted) else None,
    }


def _of_figures(task: TaskFacts, wanted: Filter) -> Iterable[bool]:
    known = figures(task)
    for least, most, name in (
        (wanted.total_trials_min, None, "total"),
        (wanted.completed_count_min, None, "completed"),
        (wanted.failed_count_min, None, "failed"),
        (wanted.harness_count_min, None, "errors"),
        (wanted.pass_count_min, None, "passed"),
        (wanted.partial_count_min, None, "partial"),
        (wanted.fail_count_min, None, "unsolved"),
        (wanted.avg_score_min, wanted.avg_score_max, "avg_score"),
        (wanted.pass_rate_min, wanted.pass_rate_max, "pass_rate"),
        (wanted.total_tokens_min, wanted.total_tokens_max, "total_tokens"),
        (wanted.runtime_total_min, wanted.runtime_total_max, "runtime_total"),
        (wanted.runtime_avg_min, wanted.runtime_avg_max, "runtime_avg"),
    ):
        yield (least, most) == (None, None) or _within(known[name], least, most)


def _compared(task: TaskFacts, wanted: Filter) -> Iterable[bool]:
    if wanted.compare_by:
        metric = wanted.compare_metric or "reward"
        ours, theirs = (
            _measured(task, wanted.compare_by, name, metric, wanted.compare_agg or "avg")
            for name in (wanted.compare_a, wanted.compare_b)
        )
        if ours is None or theirs is None:
            yield False
            return
        lead = ours - theirs if metric in ("reward", "pass_rate") else theirs - ours
        margin = wanted.compare_margin or 0
        margin = margin / 100 * abs(theirs) if wanted.compare_margin_unit == "percent" else margin
        yield lead > 0 and lead >= margin
    if wanted.top_by:
        metric = wanted.top_metric or "reward"
        subjects = {getattr(one, wanted.top_by) for one in task.counted()} - {None}
        values = {name: _measured(task, wanted.top_by, name, metric, "avg") for name in subjects}
        known = [value for value in values.values() if value is not None]
        best = (max if metric in ("reward", "pass_rate") else min)(known, default=None)
        yield best is not None and values.get(wanted.top_value) == best


def _measured(task: TaskFacts, by: str, name: str | None, metric: str, aggregate: str) -> float | None:
    values = [
        value
        for one in task.counted()
        if one.status == "success" and getattr(one, by) == name and (value := _metric(one, metric)) is not None
    ]
    if not values:
        return None
    if aggregate == "best" and metric != "pass_rate":
        return max(values) if metric == "reward" else min(values)
    return median(values) if aggregate == "median" else fmean(values)


def _metric(one: TrialFacts, metric: str) -> Any:
    return {
        "reward": one.reward,
        "pass_rate": None if one.reward is None else float(one.reward == 1),
        "runtime": one.runtime,
        "tokens": one.tokens,
        "steps": one.steps,
    }[metric]


def ids(tasks: Sequence[TaskFacts]) -> list[str]:
    return [task.id for task in tasks]
