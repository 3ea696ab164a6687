"""Deleting trials, tasks and experiments."""

from typing import Literal

from pydantic import Field

from oddish.schemas.base import ResponseBody


class DeletionResponse(ResponseBody):
    """What is no longer seen. Its files stay in the object store."""

    message: str
    kind: Literal["trial", "task", "experiment"]
    deleted: str = Field(description="Its id, which never comes back.")
    trials_deleted: int
    trials_cancelled: int = Field(description="Of these, those that waited or ran; what runs ends within seconds.")
    s3_prefixes: list[str] = Field(default_factory=list, description="Of files that were removed: always empty.")
    s3_keys_deleted: int = 0
