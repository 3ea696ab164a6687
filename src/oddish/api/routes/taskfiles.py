"""The files of a task's versions."""

import base64
from typing import Annotated, Literal

from fastapi import Header, Query, Response
from starlette.requests import Request

from oddish.api.authentication import PrincipalOf
from oddish.api.links import absolute
from oddish.api.paging import page
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.identity.principal import Principal
from oddish.schemas.versions import TaskFile, TaskFileContent, TaskFiles
from oddish.serving.conditions import has_current
from oddish.tasks.versions import TaskVersion, find_version

DEFAULT_BYTES = 1024 * 1024
MAX_BYTES = 8 * DEFAULT_BYTES
CONTENT: dict[int | str, dict[str, object]] = {
    200: {"model": TaskFileContent},
    304: {"description": "The caller has it already."},
}

type Limit = Annotated[int, Query(ge=1, le=1000)]
type Version = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="By default the current one.")]

router = new_router()


@router.get("/tasks/{task_id}/files", tags=["tasks"])
async def files(
    task_id: str,
    request: Request,
    principal: PrincipalOf,
    services: ServicesOf,
    prefix: str = "",
    recursive: bool = True,
    presign: Annotated[bool, Query(description="A signed URL of the archive in place of the listing.")] = False,
    limit: Limit = 1000,
    cursor: str | None = None,
    version: Version = None,
) -> TaskFiles:
    """The files of a version of a task in the order of their paths, or where all of them can be fetched at once."""
    found = await _version(services, principal, task_id, version)
    answer = TaskFiles(
        task_id=task_id,
        version=found.version,
        content_hash=found.content_hash,
        files=[],
        cursor=None,
        archive_bytes=found.archive_bytes,
    )
    if presign:
        answer.archive_url = absolute(services, request, await services.store.download_url(found.archive_key))
        return answer
    listing = await services.task_files.listing(found)
    shown = page(listing, prefix=prefix, recursive=recursive, cursor=cursor, limit=limit)
    answer.files, answer.cursor = [TaskFile.model_validate(file) for file in shown.files], shown.cursor
    return answer


@router.get("/tasks/{task_id}/files/{path:path}", tags=["tasks"], response_model=TaskFileContent, responses=CONTENT)
async def file(
    task_id: str,
    path: str,
    principal: PrincipalOf,
    services: ServicesOf,
    version: Version = None,
    max_bytes: Annotated[int, Query(ge=1, le=MAX_BYTES)] = DEFAULT_BYTES,
    if_none_match: Annotated[list[str] | None, Header()] = None,
) -> Response:
    """The content of one file of a version, as text where it is text; of a long one its beginning."""
    found = await _version(services, principal, task_id, version)
    wanted = await services.task_files.file(found, path)
    tag = {"ETag": f'"{wanted.sha256}-{max_bytes}"'}
    if has_current(if_none_match or (), f"{wanted.sha256}-{max_bytes}"):
        return Response(status_code=304, headers=tag)
    data = await services.task_files.beginning(found, wanted, max_bytes=max_bytes)
    content, encoding = _text(data, truncated=len(data) < wanted.size)
    body = TaskFileContent(
        path=wanted.path,
        size=wanted.size,
        sha256=wanted.sha256,
        content=content,
        encoding=encoding,
        truncated=len(data) < wanted.size,
    )
    return Response(body.model_dump_json(), media_type="application/json", headers=tag)


def _text(data: bytes, *, truncated: bool) -> tuple[str, Literal["utf-8", "base64"]]:
    """The bytes as text, without a character that was cut in two; as base64 where they are none."""
    for cut in range(4 if truncated else 1):
        try:
            return data[: len(data) - cut].decode(), "utf-8"
        except UnicodeDecodeError:
            continue
    return base64.b64encode(data).decode(), "base64"


async def _version(services: Services, principal: Principal, task_id: str, version: int | None) -> TaskVersion:
    async with services.reads.connect() as connection:
        return await find_version(connection, principal, task_id, version)
