"""The job gateway: what became of what its jobs told others."""

from typing import Annotated

from fastapi import Query

from oddish.api.authentication import PrincipalOf
from oddish.api.routes.gatewayjobs import ROOT
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.gateway import jobs
from oddish.gateway.deliveries import deliveries
from oddish.schemas.gatewaydeliveries import DeliveryAttempt, JobDeliveries

router = new_router()


@router.get(f"{ROOT}/jobs/{{job_id}}/deliveries", tags=["gateway"])
async def list_deliveries(
    job_id: str, principal: PrincipalOf, services: ServicesOf, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> JobDeliveries:
    """Each attempt to tell the callbacks of a job, the newest first: to what address, and what was answered."""
    async with services.reads.connect() as connection:
        await jobs.get(connection, principal, job_id)
        found = await deliveries(connection, job_id, limit=limit)
    return JobDeliveries(job_id=job_id, deliveries=[DeliveryAttempt.model_validate(entry) for entry in found])
