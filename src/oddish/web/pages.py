"""Answering with a page: model and template are worked on in a thread, and what has not changed is not sent again."""

import hashlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from oddish.errors import OddishError
from oddish.serving.conditions import has_current
from oddish.serving.excerpt import excerpt
from oddish.serving.refusals import refusal, unexpected
from oddish.web.negotiation import PAGE, TWIN, wants_twin
from oddish.web.templates import render
from oddish.web.twins import twin

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'"
)
FRAMED_NOWHERE = f"{POLICY}; frame-ancestors 'none'"
KEPT_BUT_CHECKED = "private, no-cache"
_TITLES = {
    401: "You are not signed in",
    403: "This is not for you",
    404: "There is no such page",
    500: "Something went wrong here",
    503: "Not now",
}


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    address: str


@dataclass(frozen=True, slots=True)
class Site:
    """What all pages of one server have in common."""

    home: str
    """Address of the first page."""
    navigation: Sequence[Link] = ()
    policy: str = FRAMED_NOWHERE
    """The content security policy."""


@dataclass(frozen=True, slots=True)
class Page:
    template: str
    title: str
    model: object
    """What is shown, and answered as the JSON twin: a frozen dataclass of plain values."""
    trail: Sequence[Link] = ()
    """The pages above this one, the highest first."""
    drawn: Mapping[str, object] = field(default_factory=dict)
    """Further names for the template, of what the twin has no use for."""
    status: int = 200


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file to keep, which a browser saves and never shows."""

    name: str
    kind: str
    chunks: Iterator[bytes]


type Show = Callable[[Request], Page | Attachment]
type Endpoint = Callable[[Request], Awaitable[Response]]


def endpoint(site: Site, show: Show, *, name: str, summary: str | None) -> Endpoint:
    """A route that answers with what ``show`` makes, or with an error page."""

    async def answer(request: Request) -> Response:
        return await to_thread.run_sync(respond, site, show, request)

    answer.__name__, answer.__doc__ = name, summary
    return answer


def respond(site: Site, show: Show, request: Request) -> Response:
    """The page or its twin, what is wrong if it cannot be made, or that the caller has it already."""
    as_twin = False
    try:
        as_twin = wants_twin(request)
        page = show(request)
        if isinstance(page, Attachment):
            return _saved(page)
        if as_twin:
            return _answer(request, page.status, twin(page.model), TWIN, {})
        return page_answer(site, request, page)
    except OddishError as error:
        return error_answer(site, request, error, as_twin=as_twin)
    except Exception as error:  # noqa: BLE001 - whatever a file holds, its reader gets a page
        return error_answer(
            site, request, unexpected(error, method=request.method, path=excerpt(request.url.path)), as_twin=as_twin
        )


def page_answer(site: Site, request: Request, page: Page) -> Response:
    return _answer(request, page.status, fill(site, request, page), PAGE, {"Content-Security-Policy": site.policy})


def fill(site: Site, request: Request, page: Page) -> bytes:
    asked = [(name, value) for name, value in request.query_params.multi_items() if name != "format"]
    return render(
        page.template,
        site=site,
        page=page,
        model=page.model,
        twin=f"?{urlencode([*asked, ('format', 'json')])}",
        **page.drawn,
    ).encode(errors="replace")


def error_answer(site: Site, request: Request, error: OddishError, *, as_twin: bool) -> Response:
    """A page that says what is wrong and what to do about it, or the problem document."""
    if as_twin:
        return refusal(error)
    title = _TITLES.get(error.status, "This cannot be shown")
    drawn = {"chosen": error.status == 400 and bool(request.url.query)}
    answer = page_answer(site, request, Page("error.html", title, error, drawn=drawn, status=error.status))
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _saved(file: Attachment) -> Response:
    named = f"attachment; filename*=UTF-8''{quote(file.name, safe='')}"
    headers = {"Content-Disposition": named, "Cache-Control": "no-store"}
    return StreamingResponse(file.chunks, headers=headers, media_type=file.kind)


def _answer(request: Request, status: int, body: bytes, kind: str, headers: Mapping[str, str]) -> Response:
    tag = hashlib.sha256(body).hexdigest()[:32]
    always = {**headers, "ETag": f'W/"{tag}"', "Cache-Control": KEPT_BUT_CHECKED, "Vary": "Accept"}
    if status == 200 and has_current(request.headers.getlist("if-none-match"), tag):
        return Response(status_code=304, headers=always)
    return Response(body, status, headers=always, media_type=kind)
