"""Signing a browser in with a key."""

from starlette.requests import Request
from starlette.responses import Response

from oddish.api import signin
from oddish.api.authentication import PrincipalOf
from oddish.api.idempotency import Once, RepeatableOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.api.sites import SITE
from oddish.errors import Unauthenticated
from oddish.schemas.signin import SignInLink
from oddish.serving.security import asks_for_head
from oddish.web.cookies import name_for
from oddish.web.negotiation import prefers_error_twin
from oddish.web.pages import Page, error_answer, page_answer
from oddish.web.signin import PATH, link

router = new_router()


@router.post(PATH, tags=["pages"], response_model=SignInLink)
async def make_link(
    request: Request, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """A link that signs one browser in, once, to look at pages as the key's user."""

    async def work(once: Once) -> bytes:
        async with once.transaction() as connection:
            code = signin.seal(services.keyring, "link", principal.key_id, signin.LINK_LIFETIME)
            url = link(services.settings.public_url or str(request.base_url), code)
            seconds = int(signin.LINK_LIFETIME.total_seconds())
            made = SignInLink(url=url, expires_in_seconds=seconds)
            return await once.keep(connection, made, valid_for=signin.LINK_LIFETIME)

    return await repeatable.answer(work)


@router.get(PATH, include_in_schema=False)
async def enter(request: Request, services: ServicesOf) -> Response:
    """Follow such a link: the browser gets a cookie, which pages take in place of a key."""
    answer = page_answer(SITE, request, Page("signed_in.html", "Signed in", None))
    answer.headers["Cache-Control"] = "no-store"
    if asks_for_head(request):  # whoever previews a link would use it up
        return answer
    try:
        async with services.engine.begin() as connection:
            code = request.query_params.get("code", "")
            principal = await signin.redeem(connection, services.keyring, code)
    except Unauthenticated as error:
        return error_answer(SITE, request, error, as_twin=prefers_error_twin(request))
    answer.set_cookie(
        name_for(request, signin.COOKIE),
        signin.seal(services.keyring, "session", principal.key_id, signin.SESSION_LIFETIME),
        max_age=int(signin.SESSION_LIFETIME.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=services.settings.public_url.startswith("https:"),
    )
    return answer
