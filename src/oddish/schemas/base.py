"""What all bodies share."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

type Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=255)]
type Text = Annotated[str, StringConstraints(max_length=10_000)]


class RequestBody(BaseModel):
    """A body sent to the server. Members that are not known are ignored: older and newer clients send some."""

    model_config = ConfigDict(extra="ignore")


class ResponseBody(BaseModel):
    """A body the server sends, made from a row of the same members."""

    model_config = ConfigDict(from_attributes=True)
