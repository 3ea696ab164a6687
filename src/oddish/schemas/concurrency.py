"""Limits of the queue and weights of its users over HTTP."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from oddish.schemas.base import Name, RequestBody, ResponseBody

OWN_ORGANISATION = "org"
OWN_GATEWAY = "gateway"
OWN_ARCHIVES = "archive"
CAP = r"^(org|gateway|archive|(provider|org|gateway|archive):\S.*)$"


class LimitRequest(RequestBody):
    """What changes of the one of ``queue_key`` and ``cap`` that is named: its limit, or whether it is paused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    queue_key: Name | None = None
    cap: Annotated[str, Field(pattern=CAP, max_length=255)] | None = Field(
        None,
        description="`provider:NAME`, `org` for the caller's organisation, `gateway` for its trials of the gateway, or "
        "`archive` for the archives that are fetched for these.",
    )
    limit: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(
        None, description="Null returns to the deployment's; left out, it stays."
    )
    paused: bool | None = Field(None, description="Of a queue key: whether its jobs are claimed no more.")

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.queue_key is None) == (self.cap is None):
            raise ValueError("name either queue_key or cap")
        if not self.changes_limit and self.paused is None:
            raise ValueError("say a limit, null for the deployment's, or paused")
        if self.paused is not None and self.queue_key is None:
            raise ValueError("only a queue key can be paused; a limit of 0 stops what counts against a cap")
        return self

    @property
    def changes_limit(self) -> bool:
        return "limit" in self.model_fields_set


class LimitResponse(ResponseBody):
    queue_key: str | None = None
    cap: str | None = None
    limit: int | None
    """The one in force; null does not limit."""
    source: str | None = Field(description="Where it comes from: `override`, or the name of a setting.")
    deploy_limit: int | None
    override_limit: int | None
    running: int
    paused: bool


class WeightRequest(RequestBody):
    model_config = ConfigDict(extra="forbid", strict=True)

    user: Name
    weight: Annotated[float, Field(ge=0.01, le=100)]


class WeightResponse(ResponseBody):
    user: str
    weight: float


class LimitsResponse(ResponseBody):
    keys: list[LimitResponse]
    caps: list[LimitResponse]
    weights: list[WeightResponse] = Field(description="Of the organisation's users, where it is not 1.")
