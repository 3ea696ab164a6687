"""The state of the server."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel


class Health(BaseModel):
    status: Literal["healthy", "degraded"]
    database: Literal["connected", "disconnected"]
    version: str
    timestamp: datetime
