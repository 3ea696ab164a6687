"""Objects as answers: all of their bytes, some of them, or none because the caller has them (RFC 9110, section 14)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import Response
from starlette.requests import Request
from starlette.responses import StreamingResponse

from oddish.serving.conditions import has_current
from oddish.storage.store import ArtifactStore

MEDIA_TYPE = "application/octet-stream"
DOWNLOAD: dict[int | str, dict[str, object]] = {
    200: {"content": {MEDIA_TYPE: {}}},
    206: {"description": "The bytes that `Range` asks for.", "content": {MEDIA_TYPE: {}}},
    304: {"description": "The caller has it already."},
}
_RANGE = re.compile(r"bytes=(?P<first>\d{0,18})-(?P<last>\d{0,18})")


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes ``start`` up to, not including, ``end``."""

    start: int
    end: int


def requested_span(headers: Mapping[str, str], size: int, tag: str | None) -> Span | None:
    """The one range of bytes that is asked for of an object of that size and entity tag; None: all of it.

    A ``Range`` that cannot be served, or that is for another representation, is ignored, as a server may.
    """
    if (condition := headers.get("if-range")) is not None and (tag is None or condition.strip() != f'"{tag}"'):
        return None
    asked = _RANGE.fullmatch(headers.get("range", "").strip())
    if asked is None or not (asked["first"] or asked["last"]):
        return None
    if not asked["first"]:
        start, end = max(0, size - int(asked["last"])), size
    else:
        start, end = int(asked["first"]), min(size, int(asked["last"]) + 1) if asked["last"] else size
    return Span(start, end) if start < end else None


def download(store: ArtifactStore, key: str, size: int, request: Request, *, tag: str | None = None) -> Response:
    """The object as an attachment. ``tag`` is its entity tag, without quotes, if it is known."""
    headers = {"Accept-Ranges": "bytes", "Content-Disposition": "attachment"}
    if tag is not None:
        headers["ETag"] = f'"{tag}"'
        if has_current(request.headers.getlist("if-none-match"), tag):
            return Response(status_code=304, headers=headers)
    span = requested_span(request.headers, size, tag)
    if span is None:
        headers["Content-Length"] = str(size)
        return StreamingResponse(store.stream(key), media_type=MEDIA_TYPE, headers=headers)
    length = span.end - span.start
    headers |= {"Content-Length": str(length), "Content-Range": f"bytes {span.start}-{span.end - 1}/{size}"}
    content = store.stream(key, start=span.start, length=length)
    return StreamingResponse(content, status_code=206, media_type=MEDIA_TYPE, headers=headers)
