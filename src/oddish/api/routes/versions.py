"""The versions of a task."""

from dataclasses import asdict

from oddish.api.authentication import PrincipalOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.schemas.tasks import TaskStatusResponse
from oddish.schemas.versions import TaskDetail, TaskVersionResponse, Totals, VersionSummary
from oddish.tasks.versions import TaskVersion, find_version, list_versions, make_default
from oddish.trials.rollups import list_rollups, total
from oddish.trials.summaries import get_task

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
        return _response(await find_version(connection, principal, task_id, version))


@router.put("/tasks/{task_id}/versions/{version}/default", tags=["tasks"])
async def default_version(
    task_id: str, version: int, principal: PrincipalOf, services: ServicesOf
) -> TaskVersionResponse:
    """Make a version the current one: new trials run it, and reads of the task show it. Trials stay as they are."""
    async with services.engine.begin() as connection:
        return _response(await make_default(connection, principal, task_id, version))


@router.get("/tasks/{task_id}/detail", tags=["tasks"])
async def detail(task_id: str, principal: PrincipalOf, services: ServicesOf) -> TaskDetail:
    """A task and what the trials of each of its versions came to and cost, newest first."""
    async with services.reads.connect() as connection:
        found = await get_task(connection, principal, task_id)
        rollups = await list_rollups(connection, principal, task_id)
    return TaskDetail(
        task=TaskStatusResponse.model_validate(found),
        versions=[VersionSummary.model_validate(rollup) for rollup in rollups],
        totals=Totals(**asdict(total(rollups)), total_trials=sum(rollup.trial_count for rollup in rollups)),
    )


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
