"""Run agent evaluations written in the Harbor task format."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oddish.client import Client as Client

__all__ = ["Client", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "Client":
        from oddish.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
