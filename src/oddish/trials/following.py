"""Following a trial: what its current attempt has said and done, what that took, and whether it goes on."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Select, and_, case, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import attempts, trials
from oddish.identity.principal import Principal
from oddish.trials.audience import FOLLOWED_CHANNEL, NOT_BEGUN, Audience
from oddish.trials.events import PAGE_LIMIT, StoredEntry, page
from oddish.trials.ledger import FIGURES, Spending
from oddish.trials.live import is_live
from oddish.trials.queries import UNFINISHED, no_trial

FIRST_ATTEMPT = 1
"""What a trial is at that has not begun."""


@dataclass(frozen=True)
class Place:
    """How far a follower is: an attempt, which its epoch tells apart, and the last event of it that was read."""

    attempt: int | None = None
    """None: the current one, whichever that is."""
    after_seq: int = 0


@dataclass(frozen=True)
class LivePage:
    attempt: int
    events: Sequence[StoredEntry]
    next_seq: int
    """Where the next page begins: ``after_seq`` of the call that asks for it."""
    usage: Spending
    """So far."""
    harbor_stage: str | None
    done: bool
    """The trial has ended."""
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
    ``published_in`` restricts it to the trials that are shown to the public of that experiment. Two statements: what
    the trial is first, so that a trial that has ended has all of its events in what is read after that. Raises
    ``NotFound``.
    """
    statement = _current(principal, trial_id, told=audience.told(trial_id))
    if published_in is not None:
        statement = statement.where(trials.c.experiment_id == published_in, is_live())
    row = (await connection.execute(statement)).one_or_none()
    if row is None:
        raise no_trial(trial_id)
    if row.word is not None:
        audience.tell(trial_id, row.epoch or NOT_BEGUN)
    attempt = row.epoch or FIRST_ATTEMPT
    after_seq = place.after_seq if place.attempt in (None, attempt) else 0
    events = await page(connection, trial_id, attempt=attempt, after_seq=after_seq, limit=limit)
    return LivePage(
        attempt=attempt,
        events=events,
        next_seq=events[-1].seq if events else after_seq,
        usage=Spending(**{name: row._mapping[name] for name in FIGURES}),
        harbor_stage=row.harbor_stage,
        done=row.status not in UNFINISHED,
        full=len(events) == limit,
    )


def _current(principal: Principal, trial_id: str, *, told: int) -> Select[tuple[object, ...]]:
    """The trial with its newest attempt, if it has any; a word to the workers where they were told of earlier ones."""
    untold = and_(trials.c.status.in_(UNFINISHED), func.coalesce(attempts.c.epoch, NOT_BEGUN) > told)
    return (
        select(
            trials.c.status,
            trials.c.harbor_stage,
            attempts.c.epoch,
            case((untold, func.pg_notify(FOLLOWED_CHANNEL, trials.c.id))).label("word"),
            *(attempts.c[name] for name in FIGURES),
        )
        .select_from(trials.outerjoin(attempts, attempts.c.trial_id == trials.c.id))
        .where(trials.c.id == trial_id, trials.c.org_id == principal.org_id, trials.c.deleted_at.is_(None))
        .order_by(attempts.c.epoch.desc().nulls_last())
        .limit(1)
    )
