"""Limits of the queue over HTTP."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from oddish.schemas.base import Name, RequestBody, ResponseBody


class LimitRequest(RequestBody):
    """Exactly one of ``queue_key`` and ``cap``, and its new limit; null returns to the deployment's."""

    queue_key: Name | None = None
    cap: Annotated[str, Field(pattern=r"^(provider|org):.+")] | None = None
    limit: Annotated[int, Field(ge=0, le=1_000_000)] | None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.queue_key is None) == (self.cap is None):
            raise ValueError("name either queue_key or cap")
        return self


class LimitResponse(ResponseBody):
    queue_key: str | None = None
    cap: str | None = None
    limit: int | None
    """The one in force; null does not limit."""
    deploy_limit: int | None
    override_limit: int | None
    running: int
    paused: bool


class LimitsResponse(ResponseBody):
    keys: list[LimitResponse]
    caps: list[LimitResponse]
