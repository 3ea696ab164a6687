"""The versions of a task."""

from oddish.api.authentication import PrincipalOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.schemas.uploads import TaskVersionResponse
from oddish.tasks.versions import TaskVersion, list_versions

router = new_router()


@router.get("/tasks/{task_id}/versions", tags=["tasks"])
async def versions(task_id: str, principal: PrincipalOf, services: ServicesOf) -> list[TaskVersionResponse]:
    """The versions of a task, newest first."""
    async with services.reads.connect() as connection:
        found = await list_versions(connection, principal, task_id)
    return [_response(version) for version in found]


@router.get("/tasks/{task_id}/versions/{version}", tags=["tasks"])
async def one_version(task_id: str, version: int, principal: PrincipalOf, services: ServicesOf) -> TaskVersionResponse:
    """A version of a task by its number."""
    async with services.reads.connect() as connection:
        found = await list_versions(connection, principal, task_id, version=version)
    return _response(found[0])


def _response(version: TaskVersion) -> TaskVersionResponse:
    return TaskVersionResponse(
        id=version.id,
        task_id=version.task_id,
        version=version.version,
        task_path=version.archive_key,
        task_s3_key=version.archive_key,
        content_hash=version.content_hash,
        message=version.message,
        created_by_user_id=version.created_by,
        created_at=version.created_at,
        is_current=version.is_current,
    )
