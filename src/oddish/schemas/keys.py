"""API keys over HTTP."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from oddish.schemas.base import Name, RequestBody, ResponseBody

type ScopeName = Literal["read", "tasks", "full"]
type Role = Literal["admin", "member"]


class NewKeyRequest(RequestBody):
    name: Annotated[Name, Field(description="What the key is for.", examples=["laptop"])]
    scope: ScopeName
    expires_in_days: Annotated[int, Field(ge=1, le=3650)] | None = None
    user: Name | None = Field(None, description="Name of the user it acts for, made if new. Default: the caller.")
    role: Role | None = Field(None, description="Of a new user, `member` by default; an existing one must have it.")


class NewKeyResponse(ResponseBody):
    """A key that was made, and the only answer that shows it."""

    id: str
    name: str
    prefix: str
    scope: ScopeName
    user: str
    role: Role
    created_at: datetime
    expires_at: datetime | None
    key: str


class KeyResponse(ResponseBody):
    id: str
    name: str
    prefix: str
    scope: ScopeName
    user: str
    role: Role
    created_at: datetime
    created_by: str | None
    """Name of the user who made it."""
    expires_at: datetime | None
    last_used_at: datetime | None
    """To the minute."""
    revoked_at: datetime | None


class KeysResponse(ResponseBody):
    keys: list[KeyResponse]
    cursor: str | None
    """Asks for the next page; null on the last one."""
