"""Following a trial: what its current attempt has said and done, what that took, and whether it goes on."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.identity.principal import Principal
from oddish.trials.audience import FOLLOWED_CHANNEL, NOT_BEGUN, Audience
from oddish.trials.events import StoredEntry
from oddish.trials.ledger import FIGURES, Spending
from oddish.trials.queries import UNFINISHED, no_trial

PAGE_LIMIT = 500
FIRST_ATTEMPT = 1
"""What a trial is at that has not begun."""
_EVENT = 4
"""Columns of an event, before those of the trial."""

# A trial `t` with its newest attempt `a`, if it has any. A word to the workers where they know of earlier ones only.
_STANDING = f"""
  t.id, t.status, t.harbor_stage, coalesce(a.epoch, {NOT_BEGUN}) AS epoch, {", ".join(f"a.{name}" for name in FIGURES)},
  CASE WHEN t.status IN {tuple(sorted(UNFINISHED))} AND coalesce(a.epoch, {NOT_BEGUN}) > told
    THEN pg_notify(:channel, t.id) END AS word
"""
_NEWEST = "LEFT JOIN LATERAL (SELECT * FROM attempts WHERE trial_id = t.id ORDER BY epoch DESC LIMIT 1) a ON true"

# What comes after a place; from the first event where that is in another attempt. One snapshot: a trial that has ended
# in it has all of its events in it.
PAGE = text(f"""
WITH current AS MATERIALIZED (
  SELECT {_STANDING} FROM trials t {_NEWEST}, CAST(:told AS bigint) told
  WHERE t.id = :trial_id AND t.org_id = :org_id AND t.deleted_at IS NULL AND (
    CAST(:published_in AS text) IS NULL
    OR t.experiment_id = :published_in AND t.superseded_by_trial_id IS NULL AND NOT t.is_probe
  )
), place AS (
  SELECT *, greatest(epoch, {FIRST_ATTEMPT}) AS attempt,
    CASE WHEN coalesce(:attempt, greatest(epoch, {FIRST_ATTEMPT})) = greatest(epoch, {FIRST_ATTEMPT})
      THEN CAST(:after_seq AS bigint) ELSE 0 END AS after_seq
  FROM current
)
SELECT e.*, place.* FROM place LEFT JOIN LATERAL (
  SELECT seq, kind, payload, created_at FROM trial_events
  WHERE trial_id = place.id AND attempt = place.attempt AND seq > place.after_seq ORDER BY seq LIMIT :limit
) e ON true ORDER BY e.seq
""")  # noqa: S608 - of constants

# How far each of many trials is; those that are deleted are left out.
GLANCE = text(f"""
SELECT {_STANDING}
FROM unnest(CAST(:trial_ids AS text[]), CAST(:told AS bigint[])) AS followed (id, told)
JOIN trials t USING (id) {_NEWEST} WHERE t.deleted_at IS NULL
""")  # noqa: S608 - of constants


@dataclass(frozen=True)
class Place:
    """How far a follower is: an attempt, which its epoch tells apart, and the last event of it that was read."""

    attempt: int | None = None
    """None: the current one, whichever that is."""
    after_seq: int = 0


@dataclass(frozen=True)
class Standing:
    """How far a trial is."""

    attempt: int
    usage: Spending
    """So far."""
    harbor_stage: str | None
    done: bool
    """The trial has ended."""


@dataclass(frozen=True)
class LivePage(Standing):
    events: Sequence[StoredEntry]
    next_seq: int
    """Where the next page begins: ``after_seq`` of the call that asks for it."""
    full: bool
    """There may be more right now."""

    @property
    def place(self) -> Place:
        return Place(self.attempt, self.next_seq)

    @property
    def last(self) -> bool:
        return self.done and not self.events


async def live_page(
    connection: AsyncConnection,
    principal: Principal,
    trial_id: str,
    place: Place,
    audience: Audience,
    *,
    limit: int = PAGE_LIMIT,
    published_in: str | None = None,
) -> LivePage:
    """What comes after ``place``; from the first event where that is in another attempt than the current one.

    Workers hear that somebody follows the trial, unless it has ended or the ``audience`` knows that they do already.
    ``published_in`` restricts it to the trials that are shown to the public of that experiment. Raises ``NotFound``.
    """
    parameters = {
        "trial_id": trial_id,
        "org_id": principal.org_id,
        "published_in": published_in,
        "attempt": place.attempt,
        "after_seq": place.after_seq,
        "limit": limit,
        "told": audience.told(trial_id),
        "channel": FOLLOWED_CHANNEL,
    }
    rows = (await connection.execute(PAGE, parameters)).all()
    if not rows:
        raise no_trial(trial_id)
    events = [StoredEntry(*row[:_EVENT]) for row in rows if row.seq is not None]
    return LivePage(
        **vars(_standing(rows[0], audience)),
        events=events,
        next_seq=events[-1].seq if events else rows[0].after_seq,
        full=len(events) == limit,
    )


async def glance(connection: AsyncConnection, trial_ids: Collection[str], audience: Audience) -> dict[str, Standing]:
    """How far each of them is, without those that are deleted. Workers hear of those that they do not know of."""
    parameters = {
        "trial_ids": list(trial_ids),
        "told": [audience.told(trial_id) for trial_id in trial_ids],
        "channel": FOLLOWED_CHANNEL,
    }
    return {row.id: _standing(row, audience) for row in await connection.execute(GLANCE, parameters)}


def _standing(row: Row[Any], audience: Audience) -> Standing:
    if row.word is not None:
        audience.tell(row.id, row.epoch)
    return Standing(
        attempt=row.epoch or FIRST_ATTEMPT,
        usage=Spending(**{name: row._mapping[name] for name in FIGURES}),
        harbor_stage=row.harbor_stage,
        done=row.status not in UNFINISHED,
    )
