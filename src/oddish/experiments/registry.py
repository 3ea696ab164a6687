"""Experiments by id or name, made when they are new; two submissions of one name share one experiment."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish import ids
from oddish.db.tables import experiments
from oddish.errors import Conflict, NotFound
from oddish.experiments.lookup import experiment_id
from oddish.identity.principal import Principal
from oddish.names import experiment_name

ATTEMPTS = 8


class NotRunnable(Conflict):
    """A collection, which gathers trials of other experiments and takes no new ones."""

    code = "not_runnable"


@dataclass(frozen=True)
class Experiment:
    id: str
    name: str


async def get_or_create(
    connection: AsyncConnection, principal: Principal, reference: str | None, *, user_name: str | None
) -> Experiment:
    """The experiment with the id, else with the name ``reference``, else a new one of that name, or of a fresh one.

    It is not deleted before the caller's transaction ends. Waits for another one that is about to create the same name,
    or to delete it. Raises ``NotRunnable`` for a collection.
    """
    for _ in range(ATTEMPTS):
        found = await _find(connection, principal, reference) if reference is not None else None
        if found is not None:
            return found
        created = await _create(connection, principal, reference or experiment_name(), user_name)
        if created is not None:
            return created
    raise Conflict("No experiment could be made.", fix="Try again, or name another experiment.")


async def create_for_job(connection: AsyncConnection, principal: Principal, name: str) -> Experiment:
    """The experiment of a job of the gateway. Raises ``Conflict`` when the name is taken."""
    created = await _create(connection, principal, name, None, kind="gateway")
    if created is None:
        raise Conflict(f"There is an experiment {name!r} already.", fix="Rename or delete it.")
    return created


async def find_experiment(connection: AsyncConnection, principal: Principal, reference: str) -> Experiment:
    """The one with that id or name that takes trials. Raises ``NotFound``, and ``NotRunnable`` for a collection."""
    found = await _find(connection, principal, reference)
    if found is None:
        raise NotFound(f"There is no experiment {reference!r} here.", fix="`oddish status` lists the newest ones.")
    return found


async def _find(connection: AsyncConnection, principal: Principal, reference: str) -> Experiment | None:
    found = experiments.c.id == experiment_id(principal, reference)
    row = (
        await connection.execute(
            select(experiments.c.id, experiments.c.name, experiments.c.is_collection)
            .where(found, experiments.c.deleted_at.is_(None))
            .with_for_update(read=True, key_share=True)
        )
    ).one_or_none()
    if row is None:
        return None
    if row.is_collection:
        raise NotRunnable(
            f"{row.name!r} is a collection of other experiments' trials.", fix="Name another experiment to run in."
        )
    return Experiment(row.id, row.name)


async def _create(
    connection: AsyncConnection,
    principal: Principal,
    name: str,
    user_name: str | None,
    *,
    kind: Literal["experiment", "gateway"] = "experiment",
) -> Experiment | None:
    row = (
        await connection.execute(
            insert(experiments)
            .values(
                id=ids.experiment_id(),
                org_id=principal.org_id,
                name=name,
                created_by=principal.user_id,
                user_name=user_name,
                kind=kind,
            )
            .on_conflict_do_nothing()
            .returning(experiments.c.id, experiments.c.name)
        )
    ).one_or_none()
    return None if row is None else Experiment(row.id, row.name)
