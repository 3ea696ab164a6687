"""Credentials of agents and tasks: what is needed, and the secrets of an organisation. Values are never answered."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from oddish.schemas.base import RequestBody, ResponseBody
from oddish.schemas.submission import MAX_VALUE


class SecretRequest(RequestBody):
    value: Annotated[str, Field(min_length=1, max_length=MAX_VALUE, description="Stored encrypted, never shown again.")]


class SecretResponse(ResponseBody):
    name: str
    created_by: str
    created_at: datetime
    updated_at: datetime


class SecretsResponse(ResponseBody):
    secrets: list[SecretResponse]


class DeletedSecret(ResponseBody):
    status: Literal["deleted"] = "deleted"
    name: str


class CredentialNeeds(ResponseBody):
    """The variables that an agent takes its credentials from."""

    required: bool
    """Without one of the groups a submission is refused."""
    one_of: list[list[str]]
    """Groups of variables; one whole group is enough."""
    also: list[str]
    """Variables that are used beside them: base URLs, regions."""


class AgentResponse(ResponseBody):
    name: str
    needs_model: bool
    credentials: CredentialNeeds


class AgentsResponse(ResponseBody):
    agents: list[AgentResponse]
    offered: list[str]
    """Names of variables that the organisation or a live worker gives to trials that name them."""
