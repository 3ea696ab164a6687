"""Accepting the body of a PUT to a signed URL."""

import hashlib
from collections.abc import AsyncIterable, AsyncIterator

from oddish.errors import InvalidInput
from oddish.storage.errors import AlreadyExists, InvalidSignature
from oddish.storage.signing import Grant
from oddish.storage.store import ArtifactStore, upload_too_large
from oddish.storage.writing import Written


async def accept_upload(
    store: ArtifactStore,
    grant: Grant,
    body: AsyncIterable[bytes],
    *,
    content_length: int | None = None,
    content_type: str | None = None,
) -> Written:
    """Store ``body`` as ``grant`` allows; ``content_length`` and ``content_type`` are the request's headers.

    Repeating an upload with the same bytes succeeds, so that a client may retry after a lost answer; other bytes raise
    ``AlreadyExists``. Raises ``TooLarge`` above the limit and ``InvalidInput`` for another content type or fewer bytes
    than announced; nothing is stored then.
    """
    if grant.method != "PUT" or grant.size_limit is None:
        raise InvalidSignature("This signed URL is not for an upload.", fix="Ask for an upload URL.")
    if grant.content_type is not None and (content_type or "").partition(";")[0].strip() != grant.content_type:
        raise InvalidInput(
            f'The content type is "{content_type or ""}".', fix=f'Send the header "Content-Type: {grant.content_type}".'
        )
    if content_length is not None and content_length > grant.size_limit:
        raise upload_too_large(grant.size_limit)
    digest = hashlib.sha256()

    async def counted() -> AsyncIterator[bytes]:
        size = 0
        async for chunk in body:
            size += len(chunk)
            digest.update(chunk)
            yield chunk
        if content_length is not None and size != content_length:
            raise InvalidInput(f"{size} bytes came of {content_length} announced.", fix="Send the upload again.")

    try:
        return await store.put_stream(grant.key, counted(), size_limit=grant.size_limit, write_once=True)
    except AlreadyExists:
        stored = hashlib.sha256()
        size = 0
        async for chunk in store.stream(grant.key):
            stored.update(chunk)
            size += len(chunk)
        if stored.digest() != digest.digest():
            raise
        return Written(size, stored.hexdigest())
