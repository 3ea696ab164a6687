"""Signing a browser in."""

from pydantic import Field

from oddish.schemas.base import ResponseBody


class SignInLink(ResponseBody):
    url: str = Field(description="Works once.")
    expires_in_seconds: int
