"""The object store: task archives and artifacts, in a local directory or a bucket, behind a few methods.

Keys are relative paths (see ``keys``); prefixes match whole segments. Every failure is one of ``errors``.
"""

import asyncio
import errno
import os
import tempfile
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Self
from urllib.parse import unquote, urlsplit

import obstore
from obstore.store import AzureStore, GCSStore, LocalStore, MemoryStore, ObjectStore, S3Store, from_url

from oddish.errors import InvalidInput, TooLarge
from oddish.home import private_directory
from oddish.storage.errors import BACKEND_ERRORS, StorageUnavailable, translated
from oddish.storage.keys import checked_key
from oddish.storage.signing import Method, UrlSigner
from oddish.storage.writing import Written, prune_empty, remove_stale_staging, write_local, write_remote

CHUNK_BYTES = 1024 * 1024
PROBE = "probe"
"""A prefix below which there is nothing."""
SCHEMES = ("file", "s3", "gs", "az", "memory")


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object's facts; ``size`` in bytes."""

    key: str
    size: int
    modified_at: datetime
    etag: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """Objects in the order of their keys; ``next_after`` continues the listing, None at its end."""

    objects: tuple[StoredObject, ...]
    next_after: str | None


@dataclass(frozen=True, slots=True)
class SignedUrl:
    """A request that anybody who has it may make: send ``headers`` as they are and no others of authentication.

    ``url`` of a store that ``signs_itself`` has neither scheme nor host: it begins with the path.
    """

    url: str
    method: str
    headers: dict[str, str]


class ArtifactStore:
    """One store, opened by URL. Safe to share between tasks of one event loop."""

    def __init__(self, backend: ObjectStore, *, root: Path | None = None, signer: UrlSigner | None = None) -> None:
        self._backend = backend
        self._root = root
        self._signer = signer

    @classmethod
    def open(cls, url: str, *, signer: UrlSigner | None = None) -> Self:
        """Open ``file:///path``, ``s3://bucket/prefix``, ``gs://``, ``az://`` or ``memory://``.

        Buckets take credentials and endpoints from their usual environment variables. ``signer`` is needed for signed
        URLs of ``file`` and ``memory`` stores. Raises ``InvalidInput`` for another URL and ``StorageDenied`` or
        ``StorageFull`` when the directory cannot be made.
        """
        parts = urlsplit(url)
        if parts.scheme not in SCHEMES:
            listed = ", ".join(f"{scheme}://" for scheme in SCHEMES)
            raise InvalidInput(f'"{url}" is not a storage URL.', fix=f"Use one of {listed}.")
        if parts.scheme == "memory":
            return cls(MemoryStore(), signer=signer)
        try:
            if parts.scheme != "file":
                return cls(from_url(url), signer=signer)
            if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
                raise InvalidInput(f'"{url}" names no directory.', fix="Write file:///absolute/path.")
            root = private_directory(Path(unquote(parts.path)))
            remove_stale_staging(root)
            return cls(LocalStore(prefix=root), root=root, signer=signer)
        except BACKEND_ERRORS as error:
            raise translated(error, url) from error

    @property
    def signs_itself(self) -> bool:
        """Whether signed URLs point at this deployment's own routes rather than at the bucket."""
        return isinstance(self._backend, LocalStore | MemoryStore)

    @property
    def directory(self) -> Path | None:
        """Where a ``file`` store writes, made when it was opened; None of any other store."""
        return self._root

    async def check(self) -> None:
        """Raises the error of a store that cannot be used now, for one small request."""
        try:
            if self._root is not None:
                await asyncio.to_thread(_enter, self._root)
                return
            async for _ in obstore.list(self._backend, PROBE):
                return
        except FileNotFoundError as error:
            raise StorageUnavailable(
                "The bucket or directory of the object store is gone.", fix="See ODDISH_STORAGE_URL."
            ) from error
        except BACKEND_ERRORS as error:
            raise translated(error, PROBE) from error

    async def put(self, key: str, data: bytes, *, write_once: bool = False) -> None:
        """Store ``data``, all or nothing. Raises ``AlreadyExists`` when ``write_once`` and the key is taken."""
        checked_key(key)
        try:
            await obstore.put_async(self._backend, key, data, mode="create" if write_once else "overwrite")
        except BACKEND_ERRORS as error:
            raise translated(error, key) from error

    async def put_file(self, key: str, source: Path | IO[bytes], *, write_once: bool = False) -> Written:
        """Store a file of this machine in chunks and return its size and SHA-256, both of the bytes that were stored.

        A file that grows meanwhile is stored up to the size it had. An ``OSError`` means: ``source`` cannot be opened.
        ``write_once`` is exact for files up to 64 MiB and in a local store; a larger object of a bucket is checked for
        before it is written.
        """
        checked_key(key)
        if isinstance(source, Path):
            with await asyncio.to_thread(source.open, "rb") as file:
                return await self.put_file(key, file, write_once=write_once)
        try:
            if self._root is not None:
                return await asyncio.to_thread(write_local, self._root, key, source, write_once=write_once)
            return await write_remote(self._backend, key, source, write_once=write_once)
        except BACKEND_ERRORS as error:
            raise translated(error, key) from error

    async def put_stream(
        self, key: str, chunks: AsyncIterable[bytes], *, size_limit: int, write_once: bool = False
    ) -> Written:
        """Store what arrives, through a temporary file: nothing is visible, or left behind, unless all of it came.

        Raises ``TooLarge`` once more than ``size_limit`` bytes came.
        """
        checked_key(key)
        with self._temporary(key) as received:
            size = 0
            async for chunk in chunks:
                size += len(chunk)
                if size > size_limit:
                    raise upload_too_large(size_limit)
                try:
                    await asyncio.to_thread(received.write, chunk)
                except OSError as error:
                    raise translated(error, key) from error
            received.seek(0)
            return await self.put_file(key, received, write_once=write_once)

    async def head(self, key: str) -> StoredObject:
        """Raises ``ObjectNotFound``."""
        checked_key(key)
        try:
            return _stored(await obstore.head_async(self._backend, key))
        except BACKEND_ERRORS as error:
            raise translated(error, key) from error

    async def exists(self, key: str) -> bool:
        checked_key(key)
        try:
            await obstore.head_async(self._backend, key)
        except FileNotFoundError:
            return False
        except BACKEND_ERRORS as error:
            raise translated(error, key) from error
        return True

    async def get(self, key: str, *, max_bytes: int) -> bytes:
        """The whole object. Raises ``ObjectNotFound``, and ``TooLarge`` when it has more than ``max_bytes``."""
        checked_key(key)
        try:
            result = await obstore.get_async(self._backend, key)
            if result.meta["size"] > max_bytes:
                raise TooLarge(f'The object "{key}" is larger than {max_bytes} bytes.', fix="Read it in parts.")
            return bytes(await result.bytes_async())
        except BACKEND_ERRORS as error:
            raise translated(error, key) from error

    async def get_range(self, key: str, *, start: int, length: int) -> bytes:
        """At most ``length`` bytes from offset ``start``; fewer, or none, at the end. Raises ``ObjectNotFound``."""
        size = (await self.head(key)).size
        end = min(start + length, size)
        if start >= end:
            return b""
        try:
            return bytes(await obstore.get_range_async(self._backend, key, start=start, end=end))
        except BACKEND_ERRORS as error:
            raise translated(error, key) from error

    async def stream(self, key: str, *, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """Chunks of the object from offset ``start``. Raises ``ObjectNotFound`` before the first one."""
        size = (await self.head(key)).size
        end = size if length is None else min(start + length, size)
        if start >= end:
            return
        try:
            result = await obstore.get_async(self._backend, key, options={"range": (start, end)})
            async for chunk in result.stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(chunk)
        except BACKEND_ERRORS as error:
            raise translated(error, key) from error

    async def fetch(self, key: str, destination: Path) -> int:
        """Download to ``destination``, which appears complete or not at all; the number of bytes."""
        descriptor, name = await asyncio.to_thread(tempfile.mkstemp, dir=destination.parent, prefix=".fetch-")
        partial = Path(name)
        size = 0
        try:
            with os.fdopen(descriptor, "wb") as file:
                async for chunk in self.stream(key):
                    size += await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(partial.replace, destination)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(name)  # noqa: PTH108 - also on cancellation, where nothing can be awaited
            raise
        return size

    async def list(self, prefix: str = "", *, after: str | None = None, limit: int = 1000) -> Page:
        """At most ``limit`` objects below ``prefix`` whose keys follow ``after``; "" lists the whole store."""
        if prefix:
            checked_key(prefix)
        found: list[StoredObject] = []
        try:
            pages = obstore.list(self._backend, prefix or None, offset=after)
            async for metas in pages:
                found.extend(_stored(meta) for meta in metas)
                # A bucket lists in the order of keys; a local directory in any order, so all of it is needed.
                if len(found) > limit and not self.signs_itself:
                    break
        except FileNotFoundError:
            return Page((), None)
        except BACKEND_ERRORS as error:
            raise translated(error, prefix or "/") from error
        found.sort(key=lambda item: item.key)
        more = len(found) > limit
        return Page(tuple(found[:limit]), found[limit - 1].key if more else None)

    async def delete(self, key: str) -> None:
        """Remove the object; one that is not there is no error."""
        checked_key(key)
        try:
            await obstore.delete_async(self._backend, key)
        except FileNotFoundError:
            return
        except BACKEND_ERRORS as error:
            raise translated(error, key) from error

    async def delete_prefix(self, prefix: str) -> int:
        """Remove every object below ``prefix``; how many there were."""
        removed = 0
        while objects := (await self.list(prefix)).objects:
            for item in objects:
                await self.delete(item.key)
            removed += len(objects)
        if self._root is not None:
            await asyncio.to_thread(prune_empty, self._root / prefix)
        return removed

    async def upload_url(
        self,
        key: str,
        *,
        size_limit: int,
        expires_in: int = 3600,
        content_type: str = "application/octet-stream",
    ) -> SignedUrl:
        """A PUT of at most ``size_limit`` bytes to ``key`` within ``expires_in`` seconds.

        A bucket's own URLs bind method, key and time only: check the size by ``head`` once the upload is reported, and
        use keys that are never issued twice.
        """
        checked_key(key)
        headers = {"Content-Type": content_type}
        if isinstance(self._backend, S3Store | GCSStore | AzureStore):
            if isinstance(self._backend, AzureStore):
                headers["x-ms-blob-type"] = "BlockBlob"
            return SignedUrl(await self._presigned(self._backend, "PUT", key, expires_in), "PUT", headers)
        url = self._own_signer().sign(
            "PUT", key, expires_in=expires_in, size_limit=size_limit, content_type=content_type
        )
        return SignedUrl(url, "PUT", headers)

    async def download_url(self, key: str, *, expires_in: int = 3600) -> SignedUrl:
        """A GET of ``key`` within ``expires_in`` seconds; does not check that the object exists."""
        checked_key(key)
        if isinstance(self._backend, S3Store | GCSStore | AzureStore):
            return SignedUrl(await self._presigned(self._backend, "GET", key, expires_in), "GET", {})
        return SignedUrl(self._own_signer().sign("GET", key, expires_in=expires_in), "GET", {})

    def _temporary(self, key: str) -> IO[bytes]:
        try:
            return tempfile.TemporaryFile(dir=self._root)
        except OSError as error:
            raise translated(error, key) from error

    async def _presigned(
        self, backend: S3Store | GCSStore | AzureStore, method: Method, key: str, expires_in: int
    ) -> str:
        try:
            return await obstore.sign_async(backend, method, key, timedelta(seconds=expires_in))
        except BACKEND_ERRORS as error:
            raise translated(error, key) from error

    def _own_signer(self) -> UrlSigner:
        if self._signer is None:
            raise InvalidInput(
                "This store was opened without a signer, so that it has no signed URLs.", fix="Configure a secret key."
            )
        return self._signer


def _enter(root: Path) -> None:
    root.stat()
    if not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "not accessible", str(root))


def upload_too_large(size_limit: int) -> TooLarge:
    return TooLarge(f"The upload is larger than {size_limit} bytes.", fix="Send less, or raise the limit.")


def _stored(meta: "obstore.ObjectMeta") -> StoredObject:
    return StoredObject(
        key=meta["path"],
        size=meta["size"],
        modified_at=meta["last_modified"].astimezone(UTC),
        etag=meta["e_tag"],
    )
