"""Which trials count: those that nothing has replaced or deleted, and that are no probes."""

from sqlalchemy import ColumnElement, and_

from oddish.db.tables import trials


def is_live() -> ColumnElement[bool]:
    return and_(trials.c.deleted_at.is_(None), trials.c.superseded_by_trial_id.is_(None), trials.c.is_probe.is_(False))
