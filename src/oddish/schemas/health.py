"""The state of the server."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Health(BaseModel):
    status: Literal["healthy", "degraded"]
    database: Literal["connected", "disconnected"]
    version: str
    deployment: Literal["local", "self-hosted", "hosted"]
    """``local``: the server runs on the machine and account of whoever may use it."""
    timestamp: datetime


class Alive(BaseModel):
    status: Literal["alive"] = "alive"


class DependencyState(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    ok: bool
    detail: str
    """For people; it may change."""


class Ready(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    status: Literal["ready", "unready", "draining"]
    """``draining``: the server is about to end and gets no new requests."""
    dependencies: dict[str, DependencyState]
