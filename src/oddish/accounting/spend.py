"""Spend: what was folded and what was not, read together. Everything is of one organisation."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import RowMapping, text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.accounting.entries import ENTERED, ENTRY, binned, summed
from oddish.accounting.shares import Breakdown, Model, Ranked, Ranking, Share, User
from oddish.accounting.sums import NAMES, Sums
from oddish.accounting.window import Window
from oddish.errors import NotFound

EXPERIMENTS_SHOWN, TASKS_SHOWN = 50, 100


def _spend(table: str, key: str) -> str:
    """Rows of the window with ``key`` and the sums, of one user where one is named."""
    columns = f"hour, user_id, {key}, {', '.join(NAMES)}"
    return f"""
spend AS (
  SELECT {columns} FROM (SELECT *, 0 AS running FROM {table} WHERE org_id = :org_id AND hour >= :since) folded
  WHERE CAST(:user_id AS text) IS NULL OR user_id = :user_id
  UNION ALL
  SELECT {columns} FROM (
    SELECT {ENTRY} FROM attempts a JOIN trials t ON t.id = a.trial_id
    WHERE a.org_id = :org_id AND NOT a.spend_folded AND {ENTERED}
  ) unfolded
  WHERE hour >= :since AND (CAST(:user_id AS text) IS NULL OR user_id = :user_id)
)"""  # noqa: S608


_BY_HOUR = _spend("spend_hours", "experiment_id, agent, provider, model")
_BY_TASK = _spend("spend_task_hours", "task_id")

# Locks: none.
USER = """
SELECT id, name, email FROM users WHERE org_id = :org_id AND (id = :named OR name = :named)
ORDER BY id = :named DESC LIMIT 1
"""

# What is grouped by is told by the bits of ``GROUPING``: 0 for what is. Of experiments, those that cost most are told.
# Locks: none.
BREAKDOWN = f"""
WITH {_BY_HOUR}, steps AS (
  SELECT {binned("CAST(:step AS interval)", "hour")} AS bucket, user_id, experiment_id, agent, provider, model,
    {summed()}
  FROM spend GROUP BY 1, 2, 3, 4, 5, 6
), grouped AS (
  SELECT grouping(experiment_id, bucket, user_id, agent, model) AS without, experiment_id, bucket, user_id, agent,
    provider, model, {summed()}
  FROM steps GROUP BY GROUPING SETS (
    (bucket, user_id), (bucket, agent), (bucket, provider, model), (user_id, provider, model), (agent, provider, model),
    (experiment_id)
  )
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY without ORDER BY cost_usd DESC, experiment_id) AS place,
    count(*) OVER (PARTITION BY without) AS found FROM grouped
)
SELECT ranked.*, u.name AS user_name, u.email, e.name AS experiment_name
FROM ranked LEFT JOIN users u ON u.id = user_id LEFT JOIN experiments e ON e.id = experiment_id
WHERE experiment_id IS NULL OR place <= :most ORDER BY place
"""  # noqa: S608
BY_MODEL_AND_BUCKET, BY_AGENT_AND_BUCKET, BY_USER_AND_BUCKET = 0b10110, 0b10101, 0b10011
BY_MODEL_AND_USER, BY_MODEL_AND_AGENT, BY_EXPERIMENT = 0b11010, 0b11100, 0b01111

# Locks: none.
PERIODS = f"""
WITH {_BY_HOUR}
SELECT coalesce(sum(cost_usd) FILTER (WHERE hour >= :previous AND hour < :start), 0) AS previous,
  coalesce(sum(cost_usd) FILTER (WHERE hour >= :month), 0) AS month
FROM spend
"""  # noqa: S608


# The most expensive ones, and how many there are. Locks: none.
TASKS = f"""
WITH {_BY_TASK}, ranked AS (
  SELECT task_id AS id, count(*) OVER () AS found, {summed()} FROM spend GROUP BY task_id
  ORDER BY sum(cost_usd) DESC, task_id LIMIT :most
)
SELECT ranked.*, tasks.name FROM ranked JOIN tasks USING (id) ORDER BY cost_usd DESC, id
"""  # noqa: S608


@dataclass(frozen=True)
class Periods:
    """US dollars."""

    previous: float
    """In the window before, as long."""
    month: float
    """In this calendar month."""


async def read_breakdown(
    connection: AsyncConnection, window: Window, *, org_id: str, user_id: str | None = None
) -> Breakdown:
    parameters = _parameters(window, org_id, user_id) | {"step": window.step, "most": EXPERIMENTS_SHOWN}
    rows: dict[int, list[RowMapping]] = {}
    for row in (await connection.execute(text(BREAKDOWN), parameters)).mappings():
        rows.setdefault(row["without"], []).append(row)

    def shares(grouping: int) -> list[Share]:
        return [_share(row) for row in rows.get(grouping, ())]

    return Breakdown(
        by_agent_and_bucket=shares(BY_AGENT_AND_BUCKET),
        by_model_and_bucket=shares(BY_MODEL_AND_BUCKET),
        by_user_and_bucket=shares(BY_USER_AND_BUCKET),
        by_model_and_user=shares(BY_MODEL_AND_USER),
        by_model_and_agent=shares(BY_MODEL_AND_AGENT),
        experiments=_ranking(rows.get(BY_EXPERIMENT, ()), "experiment_id", "experiment_name"),
    )


async def find_user(connection: AsyncConnection, named: str, *, org_id: str) -> User:
    """By id or name. Raises ``NotFound``."""
    row = (await connection.execute(text(USER), {"org_id": org_id, "named": named})).mappings().one_or_none()
    if row is None:
        raise NotFound(
            f"There is no user {named!r} here.",
            fix="GET /admin/costs, or `oddish costs`, names those who have spent something.",
        )
    return User(**row)


async def read_periods(connection: AsyncConnection, window: Window, *, org_id: str) -> Periods:
    bounds = {"previous": window.previous_start, "start": window.start, "month": window.month_start}
    parameters = _parameters(window, org_id, None) | bounds | {"since": min(bounds.values())}
    return Periods(**(await connection.execute(text(PERIODS), parameters)).mappings().one())


async def read_tasks(connection: AsyncConnection, window: Window, *, org_id: str, user_id: str) -> Ranking:
    parameters = _parameters(window, org_id, user_id) | {"most": TASKS_SHOWN}
    return _ranking((await connection.execute(text(TASKS), parameters)).mappings().all(), "id", "name")


def _parameters(window: Window, org_id: str, user_id: str | None) -> dict[str, object]:
    return {"org_id": org_id, "user_id": user_id, "since": window.start}


def _share(row: RowMapping) -> Share:
    user = None if row["user_id"] is None else User(row["user_id"], row["user_name"], row["email"])
    model = None if row["provider"] is None else Model(row["provider"], row["model"])
    return Share(_sums(row), row["bucket"], user, row["agent"], model)


def _ranking(rows: Sequence[RowMapping], identity: str, name: str) -> Ranking:
    shown = [Ranked(row[identity], row[name], _sums(row)) for row in rows]
    return Ranking(shown, rows[0]["found"] if rows else 0)


def _sums(row: RowMapping) -> Sums:
    return Sums(**{name: row[name] if name.endswith("usd") else int(row[name]) for name in NAMES})
