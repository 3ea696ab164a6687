"""Datasets that an organisation has the server show."""

from datetime import datetime

from pydantic import Field

from oddish.schemas.base import ResponseBody


class ExportResponse(ResponseBody):
    project: str
    dataset: str
    url: str = Field(description="Of its page.")
    bytes: int = Field(description="Of the archive, compressed.")
    sha256: str = Field(description="Of the archive, in hex.")
    exported_by: str
    exported_at: datetime


class ExportsResponse(ResponseBody):
    exports: list[ExportResponse]
    cursor: str | None = Field(description="Continues the listing; null at its end.")


class DeletedExport(ResponseBody):
    message: str
    project: str
    dataset: str
