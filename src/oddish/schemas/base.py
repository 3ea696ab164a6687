"""What all bodies share."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator

from oddish.tasks.characters import value_flaw

type Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=255)]
type Text = Annotated[str, StringConstraints(max_length=10_000)]


class RequestBody(BaseModel):
    """A body sent to the server. Members that are not known are ignored: older and newer clients send some."""

    model_config = ConfigDict(extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unstorable(cls, values: Any) -> Any:
        if reason := value_flaw(values):
            raise ValueError(f"{reason}.")
        return values


class ResponseBody(BaseModel):
    """A body the server sends, made from a row of the same members."""

    model_config = ConfigDict(from_attributes=True)
