"""The tags of tasks."""

from starlette.responses import Response

from oddish.api.authentication import PrincipalOf
from oddish.api.idempotency import Once, RepeatableOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.schemas.labels import TaggedResponse, TagsRequest
from oddish.tasks.tags import change_tags

router = new_router()


@router.post("/tasks/{task_id}/tags", tags=["tasks"], response_model=TaggedResponse)
async def tag(
    task_id: str, body: TagsRequest, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Take tags from a task and add others to it; the answer has all that it carries then."""

    async def work(once: Once) -> bytes:
        async with once.transaction() as connection:
            tagged = await change_tags(connection, principal, task_id, add=body.add, remove=body.remove)
            return await once.keep(connection, TaggedResponse.model_validate(tagged))

    return await repeatable.answer(work)
