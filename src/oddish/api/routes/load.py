"""How busy the deployment is."""

from oddish.api.authentication import PrincipalOf
from oddish.api.load import TTL_SECONDS, alive_workers, pressure, queues, submit_ceiling
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.schemas.load import Load, QueueLoad, Totals, WorkersLoad

router = new_router()


@router.get("/load", tags=["system"])
async def load(principal: PrincipalOf, services: ServicesOf) -> Load:
    """What waits and runs, by queue key; whether workers live; how much to send at a time."""
    busy = pressure(services.engine)
    async with services.reads.connect() as connection:
        found = await queues(connection, principal)
        alive = await alive_workers(connection)
    return Load(
        submit_ceiling=submit_ceiling(services.engine),
        pressure=busy,
        ttl=TTL_SECONDS,
        totals=Totals(
            queued=sum(queue.queued for queue in found),
            running=sum(queue.running for queue in found),
            retrying=sum(queue.retrying for queue in found),
        ),
        queues=[QueueLoad.model_validate(queue) for queue in found],
        workers=WorkersLoad(alive=alive),
    )
