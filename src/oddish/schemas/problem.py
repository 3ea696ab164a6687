"""Refusals and failures on the wire (RFC 9457)."""

from typing import Literal

from pydantic import BaseModel, Field


class FieldProblem(BaseModel):
    field: str = Field(description="Dotted path of the member, or the name of the parameter or header.")
    message: str


class Problem(BaseModel):
    type: Literal["about:blank"]
    title: str = Field(description="The name of the status.")
    status: int
    detail: str = Field(description="Names the value and why it is refused.")
    code: str = Field(description="Stable; what a program branches on.")
    fix: str | None = Field(None, description="What to do about it.")
    errors: list[FieldProblem] | None = Field(None, description="With the code `validation`: every field at fault.")
    job_id: str | None = Field(None, description="With the code `job_goes_on`: the job.")
    incident: str | None = Field(
        None, description="With the code `internal`: the name of the entry in the server's log."
    )
