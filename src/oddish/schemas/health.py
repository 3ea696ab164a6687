"""The state of the server."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel


class Health(BaseModel):
    status: Literal["healthy", "degraded"]
    database: Literal["connected", "disconnected"]
    version: str
    deployment: Literal["local", "self-hosted", "hosted"]
    """``local``: the server runs on the machine and account of whoever may use it."""
    timestamp: datetime
