"""Who may look at what ``oddish view`` shows: a link that works once becomes a cookie of whoever follows it."""

import hmac
import secrets
import time
from collections.abc import Callable
from math import inf
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from oddish.errors import Unauthenticated
from oddish.web.cookies import name_for
from oddish.web.negotiation import prefers_error_twin
from oddish.web.pages import Page, Site, error_answer, page_answer

PATH = "/sign-in"
COOKIE = "oddish-view"
LINK_SECONDS = 600
MOST_LINKS = 100
OPEN_PATHS = ("/assets/", PATH)
"""Whoever is not signed in yet sees these, which show nothing of the directory."""


class Door:
    """Links and the session of one process. What they open ends with it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[str, float] = {}
        self._session = secrets.token_urlsafe(32)
        self.token = secrets.token_urlsafe(32)
        """The key of programs of the same user, which may also ask for further links."""

    def code(self, *, seconds: float = inf) -> str:
        """What opens the door once, within ``seconds``."""
        code = secrets.token_urlsafe(24)
        self._codes[code] = self._clock() + seconds
        if len(self._codes) > MOST_LINKS:
            del self._codes[next(iter(self._codes))]
        return code

    def redeem(self, code: str) -> str:
        """The session that ``code`` stands for. Raises ``Unauthenticated`` when it was used, is too old or unknown."""
        if self._clock() >= self._codes.pop(code, -inf):
            raise Unauthenticated("This link was used before, or is too old.", fix=ANOTHER_LINK)
        return self._session

    def admits(self, request: Request) -> bool:
        session = request.cookies.get(name_for(request, COOKIE), "")
        return hmac.compare_digest(session.encode(), self._session.encode()) or self.knows(request)

    def knows(self, request: Request) -> bool:
        """Whether a program sends the token."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self.token.encode())


ANOTHER_LINK = "Ask for another link: 'oddish open' with the directory that is shown."


def link(base: str, code: str) -> str:
    return f"{base.rstrip('/')}{PATH}?{urlencode({'code': code})}"


class SignedIn:
    """Lets in whoever has the cookie or the token."""

    def __init__(self, app: ASGIApp, *, door: Door, site: Site) -> None:
        self._app = app
        self._door = door
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not scope["path"].startswith(OPEN_PATHS):
            request = Request(scope)
            if not self._door.admits(request):
                error = Unauthenticated("This browser is not signed in here.", fix=ANOTHER_LINK)
                answer = error_answer(self._site, request, error, as_twin=prefers_error_twin(request))
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def routes(door: Door, site: Site) -> list[Route]:
    async def enter(request: Request) -> Response:
        if request.method == "HEAD":
            return Response(headers={"Cache-Control": "no-store"})
        try:
            session = door.redeem(request.query_params.get("code", ""))
        except Unauthenticated as error:
            return error_answer(site, request, error, as_twin=prefers_error_twin(request))
        # A page that goes on by itself, not a redirect: a strict cookie is not sent along one that began elsewhere.
        answer = page_answer(site, request, Page("signed_in.html", "Signed in", None))
        answer.set_cookie(name_for(request, COOKIE), session, httponly=True, samesite="strict")
        answer.headers["Cache-Control"] = "no-store"
        return answer

    async def another(request: Request) -> Response:
        if not door.knows(request):
            error = Unauthenticated("The request carries no token of this process.", fix="Use 'oddish open'.")
            return error_answer(site, request, error, as_twin=True)
        code = door.code(seconds=LINK_SECONDS)
        return JSONResponse({"url": link(str(request.base_url), code), "expires_in_seconds": LINK_SECONDS})

    return [Route(PATH, enter, methods=["GET"]), Route(PATH, another, methods=["POST"])]
