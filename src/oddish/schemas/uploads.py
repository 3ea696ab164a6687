"""Uploading a task: init, PUT, complete."""

from typing import Annotated, Literal

from pydantic import Field

from oddish.schemas.base import Name, RequestBody, ResponseBody, Text

type ContentHash = Annotated[str, Field(min_length=1, max_length=128, description="Equal values mean equal content.")]


class UploadInit(RequestBody):
    name: Annotated[str, Field(min_length=1, max_length=1000, examples=["hello-world"])]
    content_hash: ContentHash
    message: Text | None = None
    force_new_version: bool = False


class UploadComplete(RequestBody):
    task_id: Name
    name: str | None = None
    version: Annotated[int, Field(ge=1)] | None = None
    content_hash: ContentHash
    message: Text | None = None
    register_task: bool = Field(True, description="Ignored: a completed upload is always registered.")
    user: Name | None = None
    priority: Literal["low", "high"] | None = Field(None, description="Of the task, if this makes a new version of it.")


class UploadedVersion(ResponseBody):
    task_id: str
    name: str
    version: int
    version_id: str
    previous_version: int | None = Field(description="The one that was current before; null of a new task.")
    existing_task: bool
    content_unchanged: bool = Field(description="A version with this content was there, and is the current one now.")
    content_hash: str


class UploadTarget(UploadedVersion):
    """Where the archive goes, or that the server has this content already."""

    upload_url: str | None
    upload_method: Literal["PUT"] = "PUT"
    upload_headers: dict[str, str]
    requires_completion: bool
