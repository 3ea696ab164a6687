"""Budgets: what the trials of a run may cost together."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish import ids
from oddish.db.tables import budgets
from oddish.errors import Conflict, InvalidInput
from oddish.identity.principal import Principal
from oddish.money import dollars
from oddish.pricing import Prices


@dataclass(frozen=True)
class Budget:
    limit_usd: float
    name: str | None = None
    """Submissions that name the same one share it; without a name it is of one submission alone."""


class BudgetExceeded(Conflict):
    """A submission to a budget that is used up: its trials would be cancelled at once."""

    code = "budget_exceeded"


class BudgetDiffers(Conflict):
    """Two submissions that name one budget and differ in its limit."""

    code = "budget_differs"


class Unpriced(InvalidInput):
    """A cost limit for a model that nobody knows the price of, or for an agent without a model."""

    code = "unpriced_model"


async def take_budget(connection: AsyncConnection, principal: Principal, budget: Budget) -> str:
    """The id of the budget, which is made if it is new. It is not exceeded before the caller's transaction ends.

    Whoever stops an exceeded budget therefore sees the trials that the caller adds. Raises ``BudgetExceeded`` and
    ``BudgetDiffers``.
    """
    budget_id = budget.name or ids.row_id("bud")
    await connection.execute(
        insert(budgets)
        .values(org_id=principal.org_id, id=budget_id, limit_usd=budget.limit_usd)
        .on_conflict_do_nothing()
    )
    found = await connection.execute(
        select(budgets.c.limit_usd, budgets.c.spent_usd, budgets.c.exceeded_at)
        .where(budgets.c.org_id == principal.org_id, budgets.c.id == budget_id)
        .with_for_update(read=True)
    )
    row = found.one()
    if row.limit_usd != budget.limit_usd:
        raise BudgetDiffers(
            f"The limit of budget {budget_id!r} is {dollars(row.limit_usd)}, not {dollars(budget.limit_usd)}.",
            fix="Give the same max_cost_usd, or name another budget.",
        )
    if row.exceeded_at is not None:
        raise BudgetExceeded(
            f"The run has cost about {dollars(row.spent_usd)}, and its limit is {dollars(row.limit_usd)}.",
            fix="Submit what is missing again, with a new limit.",
        )
    return budget_id


def check_priced(agents: Iterable[tuple[str, str | None]], prices: Prices) -> None:
    """Raises ``Unpriced`` for an agent whose model nobody knows, or whose model has no price: its cost has no limit.

    ``agents`` are names, each with its model. The first call takes about a second.
    """
    now = datetime.now(UTC)
    for agent, model in agents:
        if model is None:
            raise Unpriced(
                f"No model is named for agent {agent!r}, so what it costs cannot be limited.",
                fix="Name one that has a price as provider/model, for example with -m, or leave the limit out.",
            )
        if prices.rates(model, now) is None:
            raise Unpriced(
                f"No price is known for model {model!r}, so what it costs cannot be limited.",
                fix="Give its price in the file that ODDISH_PRICES names, or leave the limit out.",
            )
