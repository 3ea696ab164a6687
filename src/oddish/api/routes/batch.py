"""Submitting for many tasks at once."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from oddish.api.authentication import PrincipalOf
from oddish.api.idempotency import REPLAYED, RepeatableOf
from oddish.api.problems import answer_to
from oddish.api.routes.submission import SubmitRoute, ground, submit_repeatably
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.schemas.submission import BatchResponse, BatchSubmission, SweepSubmission

SOME_FAILED = 207

router = new_router(SubmitRoute)


@router.post(
    "/tasks/sweep/batch",
    tags=["trials"],
    response_model=BatchResponse,
    responses={SOME_FAILED: {"model": BatchResponse, "description": "Some submissions were refused."}},
)
async def sweep_batch(
    body: BatchSubmission, request: Request, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Carry out submissions one by one. One that is refused leaves the others; 207 when there is such a one.

    With an `Idempotency-Key` each submission is repeatable by itself, by its position and content: a repeated batch
    answers again for what was done and does the rest.
    """
    results: list[dict[str, Any]] = []
    replays = 0
    common = ground(services)
    for index, item in enumerate(body.submissions):
        try:
            submission = SweepSubmission.model_validate(item)
            part = repeatable.part(index, json.dumps(item).encode())
            answer = await submit_repeatably(part, services, principal, submission, common)
        except Exception as error:  # noqa: BLE001 - whatever stops one submission leaves the others
            refusal = answer_to(error, request)
            outcome = {"success": False, "status_code": refusal.status_code, "error": json.loads(bytes(refusal.body))}
        else:
            outcome = {"success": True, "status_code": 200, "task": json.loads(answer.document)}
            replays += answer.replayed
        results.append({"index": index, **outcome})
    succeeded = sum(result["success"] for result in results)
    document = {
        "total": len(results),
        "succeeded": succeeded,
        "failed": len(results) - succeeded,
        "results": results,
    }
    return JSONResponse(
        document,
        status_code=200 if succeeded == len(results) else SOME_FAILED,
        headers={REPLAYED: "true"} if replays == len(results) else None,
    )
