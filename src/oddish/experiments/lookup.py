"""Finding an experiment by what people call it."""

from typing import Any

from sqlalchemy import BindParameter, ScalarSelect, select

from oddish.db.tables import experiments
from oddish.errors import NotFound
from oddish.identity.principal import Principal


def experiment_id(principal: Principal, reference: str) -> ScalarSelect[Any]:
    """The id of the experiment with that id, else with that name, as part of a statement."""
    return experiment_called(principal.org_id, reference)


def experiment_called(org_id: str | BindParameter[str], reference: str | BindParameter[str]) -> ScalarSelect[Any]:
    """The same, of an organisation; for statements that are built once, by their parameters."""
    return (
        select(experiments.c.id)
        .where(
            experiments.c.org_id == org_id,
            experiments.c.deleted_at.is_(None),
            (experiments.c.id == reference) | (experiments.c.name == reference),
        )
        .order_by((experiments.c.id == reference).desc())
        .limit(1)
        .scalar_subquery()
    )


def no_experiment(reference: str) -> NotFound:
    return NotFound(f"There is no experiment {reference!r} here.", fix="`oddish status` lists the newest experiments.")
