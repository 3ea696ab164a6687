"""Sending a message to an address that a caller named. It is signed for the address; redirects are not followed."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

import httpx2

from oddish.errors import Unavailable
from oddish.gateway.addresses import parse_callback
from oddish.gateway.callbacks import Answer, Callback, Signature, headers_of_upload
from oddish.gateway.outgoing import Outgoing
from oddish.httpdates import retry_after


class CallbackUnreachable(Unavailable):
    """The host of a callback does not answer."""

    code = "callback_unreachable"


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent, and the seconds that it may take."""

    id: str
    method: str
    media_type: str
    size: int
    content: Callable[[], AsyncIterator[bytes]] = field(repr=False)
    """The body, as often as it is asked for."""
    seconds: float

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Content-Type": self.media_type, "Content-Length": str(self.size)}


async def send(outgoing: Outgoing, callback: Callback, message: Message) -> Answer:
    """What the receiver answers, whatever that is.

    Raises ``RefusedAddress``, ``Unresolved``, ``CallbackUnreachable``, and what reading the body raises.
    """
    address = parse_callback(callback.url)
    signature = Signature(message.id, int(time.time()), callback.secret)
    if signature.signs:
        async for chunk in message.content():
            signature.update(chunk)
    own = headers_of_upload(address.host) if message.method == "PUT" else {}
    try:
        async with asyncio.timeout(message.seconds):
            answer = await outgoing.ask(
                address,
                method=message.method,
                headers={**message.headers, **own, **signature.headers},
                content=message.content,
            )
            await answer.aclose()
    except TimeoutError:
        raise CallbackUnreachable(f"{address.shown} did not answer within {message.seconds:g} s.") from None
    except httpx2.TransportError as error:
        raise CallbackUnreachable(
            f"{address.shown} cannot be reached: {str(error) or type(error).__name__}."
        ) from error
    return Answer(answer.status_code, retry_after(answer.headers))
