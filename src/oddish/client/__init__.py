"""Python access to an oddish server. ``Client`` and its errors are loaded at first use: they bring the HTTP stack."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oddish.client.client import Client as Client
    from oddish.client.errors import ApiError as ApiError
    from oddish.client.errors import Unreachable as Unreachable

__all__ = ["ApiError", "Client", "Unreachable"]


def __getattr__(name: str) -> object:
    if name == "Client":
        from oddish.client.client import Client

        return Client
    if name in ("ApiError", "Unreachable"):
        from oddish.client import errors

        return getattr(errors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
