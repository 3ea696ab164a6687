"""Signed URLs as callers can use them."""

from starlette.requests import Request

from oddish.api.services import Services
from oddish.storage.store import SignedUrl


def absolute(services: Services, request: Request, signed: SignedUrl) -> str:
    """The URL with the address of this deployment, where it is one of its own routes."""
    if not services.store.signs_itself:
        return signed.url
    base = services.settings.public_url or str(request.base_url)
    return base.rstrip("/") + signed.url
