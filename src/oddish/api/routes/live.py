"""Following trials while they run: page by page, or as events that come by themselves."""

import re
from typing import Annotated

from fastapi import Depends, Header, Query, Response
from starlette.requests import Request

from oddish.api import eventstream
from oddish.api.authentication import PrincipalOf
from oddish.api.eventstream import EventStream
from oddish.api.feeds import MOST_FOLLOWERS
from oddish.api.following import Followed, follow
from oddish.api.routes.public import Token
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.errors import InvalidInput, Unavailable
from oddish.experiments.public import public_experiment
from oddish.schemas import live as schemas
from oddish.serving.excerpt import excerpt
from oddish.trials.following import PAGE_LIMIT, LivePage, Place, live_page

MOST = 2**63 - 1
EVENTS: dict[int | str, dict[str, object]] = {
    200: {
        "description": "A page. With `Accept: text/event-stream` the events as they come: without a name those of the "
        "transcript, `state` with what a page has beside its events, and `end`, when the trial has ended and "
        "everything is told. Ask again where a stream ends without it.",
        "content": {eventstream.MEDIA_TYPE: {}},
    }
}
_PLACE = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")

type Attempt = Annotated[
    int | None,
    Query(ge=0, le=MOST, description="Of which `after_seq` is. Unless it is the current one, `after_seq` is ignored."),
]
type AfterSeq = Annotated[
    int, Query(ge=0, le=MOST, description="The last event that was read: `next_seq` of its page.")
]
type LastEventId = Annotated[
    str | None, Header(description="`ATTEMPT:SEQ`, the id of the last event that was read, in place of the parameters.")
]
type Limit = Annotated[int, Query(ge=1, le=PAGE_LIMIT, description="Of events in a page.")]

router = new_router()


def place_of(attempt: Attempt = None, after_seq: AfterSeq = 0, last_event_id: LastEventId = None) -> Place:
    if not last_event_id:
        return Place(attempt, after_seq)
    if (named := _PLACE.fullmatch(last_event_id)) is None:
        raise InvalidInput(
            f"The Last-Event-ID {excerpt(last_event_id)!r} is no id of an event here.",
            fix="Send the id of the last event that was read, ATTEMPT:SEQ, or none to read from the first one.",
        )
    return Place(int(named[1]), int(named[2]))


type PlaceOf = Annotated[Place, Depends(place_of)]


@router.get("/trials/{trial_id}/live", tags=["trials"], response_model=schemas.LivePage, responses=EVENTS)
async def live(
    trial_id: str,
    request: Request,
    principal: PrincipalOf,
    services: ServicesOf,
    place: PlaceOf,
    limit: Limit = PAGE_LIMIT,
) -> Response | LivePage:
    """What the current attempt at a trial says and does, what that took so far, and how far it is.

    Read from the first event again when `attempt` changes. Events are kept for a minute after an attempt has ended;
    what was said is in the files of the trial from then on.
    """

    async def read(place: Place) -> LivePage:
        async with services.reads.connect() as connection:
            return await live_page(connection, principal, trial_id, place, services.audience, limit=limit)

    return await _answer(services, request, Followed(trial_id, f"{principal.org_id} {limit}", read), place)


@router.get(
    "/public/experiments/{token}/trials/{trial_id}/live",
    tags=["public"],
    response_model=schemas.LivePage,
    responses=EVENTS,
)
async def public_live(
    token: Token, trial_id: str, request: Request, services: ServicesOf, place: PlaceOf, limit: Limit = PAGE_LIMIT
) -> Response | LivePage:
    """What a trial of a published experiment says and does, as `GET /trials/{trial_id}/live` tells it."""

    async def read(place: Place) -> LivePage:
        async with services.reads.connect() as connection:
            shown = await public_experiment(connection, token)
            return await live_page(
                connection, shown.reader, trial_id, place, services.audience, limit=limit, published_in=shown.id
            )

    return await _answer(services, request, Followed(trial_id, f"{token} {limit}", read), place)


async def _answer(services: Services, request: Request, followed: Followed, place: Place) -> Response | LivePage:
    page = await followed.read(place)
    if not eventstream.is_wanted(request):
        return page
    if services.feeds.full:
        raise Unavailable(
            f"{MOST_FOLLOWERS} followers are as many as one server takes.",
            fix="Try again in a moment, or ask for pages, without `Accept: text/event-stream`.",
        )
    return EventStream(follow(services.feeds, followed, place))
