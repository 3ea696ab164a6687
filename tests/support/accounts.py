"""Trials whose attempts have spent something, and what that comes to, said in plain Python."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

import psycopg
from psycopg.types.json import Jsonb

from oddish.accounting.sums import Sums

RAN = {"timing": {"agent_execution": {"started_at": "2026-01-01T00:00:00Z", "finished_at": None}}}
"""Of the facts of an attempt whose agent began."""


@dataclass(frozen=True)
class Spent:
    """One attempt. ``ended`` is None while it runs."""

    ended: datetime | None
    cost_usd: float | None = None
    estimated: bool = False
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_tokens: int | None = None
    cache_write_tokens: int | None = None
    model: str | None = None
    state: str = "finished"
    stage: str = "completed"
    facts: dict[str, object] | None = None
    unreported: bool = False
    """Expected, not stored."""


@dataclass(frozen=True)
class Ran:
    """One trial and its attempts, in their order."""

    attempts: tuple[Spent, ...]
    user: str = "u0"
    experiment: str = "e0"
    task: str = "t0"
    agent: str = "codex"
    model: str | None = "openai/gpt-5"
    provider: str = "openai"
    imported: bool = False
    deleted: bool = False
    probe: bool = False


@dataclass
class Accounts:
    """Rows of an organisation, written as a server and workers would leave them."""

    connection: psycopg.Connection
    org: str
    _numbers: dict[str, int] = field(default_factory=dict)

    def open(self) -> None:
        """The organisation with three users, two experiments and two tasks."""
        self._run("INSERT INTO organisations (id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING", self.org, self.org)
        for user in ("u0", "u1", "u2"):
            self._run(
                "INSERT INTO users (id, org_id, name, email, role) VALUES (%s, %s, %s, %s, 'member')",
                user,
                self.org,
                f"user {user}",
                f"{user}@example.com",
            )
        for name in ("e0", "e1"):
            self._run(
                "INSERT INTO experiments (id, org_id, name, created_by) VALUES (%s, %s, %s, 'u0')",
                name,
                self.org,
                f"experiment {name}",
            )
        for name in ("t0", "t1"):
            self._run(
                "INSERT INTO tasks (id, org_id, name, created_by, current_version) VALUES (%s, %s, %s, 'u0', 1)",
                name,
                self.org,
                f"task {name}",
            )
            self._run(
                "INSERT INTO task_versions (id, org_id, task_id, version, content_hash, client_hash, archive_key, "
                "archive_bytes, definition, created_by) VALUES (%s, %s, %s, 1, '', '', '', 0, '{}', 'u0')",
                f"{name}-v1",
                self.org,
                name,
            )

    def add(self, trial: Ran) -> str:
        index = self._numbers[trial.task] = self._numbers.get(trial.task, -1) + 1
        trial_id = f"{trial.task}-{index}"
        self._run(
            "INSERT INTO trials (id, org_id, task_id, task_version_id, task_version, experiment_id, trial_index, name, "
            "agent, model, provider, queue_key, environment, unit_hash, created_by, max_attempts, origin, is_probe, "
            "deleted_at) VALUES (%s, %s, %s, %s, 1, %s, %s, %s, %s, %s, %s, '', 'local', '', %s, 6, %s, %s, "
            "CASE WHEN %s THEN now() END)",
            trial_id,
            self.org,
            trial.task,
            f"{trial.task}-v1",
            trial.experiment,
            index,
            trial_id,
            trial.agent,
            trial.model,
            trial.provider,
            trial.user,
            "imported" if trial.imported else "oddish",
            trial.probe,
            trial.deleted,
        )
        for epoch, attempt in enumerate(trial.attempts, 1):
            self.attempt(trial_id, epoch, attempt)
        return trial_id

    def attempt(self, trial_id: str, epoch: int, attempt: Spent) -> None:
        self._run(
            "INSERT INTO attempts (trial_id, epoch, org_id, job_id, claim_id, worker_id, state, stage, facts, "
            "finished_at, cost_usd, cost_is_estimated, input_tokens, output_tokens, cache_tokens, cache_write_tokens, "
            "model) VALUES (%s, %s, %s, 0, gen_random_uuid(), 'w', %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            trial_id,
            epoch,
            self.org,
            "running" if attempt.ended is None else attempt.state,
            attempt.stage,
            None if attempt.facts is None else Jsonb(attempt.facts),
            attempt.ended,
            attempt.cost_usd,
            None if attempt.cost_usd is None else attempt.estimated,
            attempt.input_tokens,
            attempt.output_tokens,
            attempt.cache_tokens,
            attempt.cache_write_tokens,
            attempt.model,
        )

    def clear(self) -> None:
        for table in ("attempts", "trials", "spend_hours", "spend_task_hours"):
            self._run(f"DELETE FROM {table}")  # noqa: S608
        self._numbers.clear()

    def _run(self, statement: str, *values: object) -> None:
        self.connection.execute(statement.encode(), values)


def entries(trials: Iterable[Ran], now: datetime) -> list[tuple[datetime, Ran, Sums]]:
    """When something was spent, give or take an hour, on which trial and what."""
    return [
        ((spent.ended or now).replace(minute=0, second=0, microsecond=0), trial, _sums(epoch, spent))
        for trial in trials
        if not trial.imported
        for epoch, spent in enumerate(trial.attempts, 1)
    ]


def total[Key: Hashable](
    spent: Iterable[tuple[datetime, Ran, Sums]], key: Callable[[datetime, Ran], Key]
) -> dict[Key, Sums]:
    totals: dict[Key, Sums] = {}
    for hour, trial, sums in spent:
        totals[key(hour, trial)] = totals.get(key(hour, trial), Sums()) + sums
    return totals


def _sums(epoch: int, spent: Spent) -> Sums:
    cost, tokens = spent.cost_usd or 0.0, (spent.input_tokens or 0, spent.output_tokens or 0)
    return Sums(
        attempts=1,
        trials=int(epoch == 1),
        running=int(spent.ended is None),
        input_tokens=tokens[0],
        cache_tokens=spent.cache_tokens or 0,
        cache_write_tokens=spent.cache_write_tokens or 0,
        output_tokens=tokens[1],
        cost_usd=cost,
        estimated_cost_usd=cost if spent.estimated else 0.0,
        unpriced=int(spent.cost_usd is None and any(tokens)),
        unreported=int(spent.unreported),
    )
