"""What can go wrong with the object store, by name."""

import errno
from typing import ClassVar

from obstore import exceptions as backend_errors

from oddish.errors import Conflict, Forbidden, InvalidInput, NotFound, OddishError, Unavailable
from oddish.metrics import STORE_ERRORS


class InvalidKey(InvalidInput):
    """A key that names no object: empty, absolute, with "..", too long."""

    code = "invalid_key"


class ObjectNotFound(NotFound):
    """No object of that key."""


class AlreadyExists(Conflict):
    """A write-once key that is taken."""

    code = "already_exists"


class StorageFull(OddishError):
    """The store has no space left."""

    code = "storage_full"
    status: ClassVar[int] = 507


class StorageDenied(OddishError):
    """The store refuses the credentials or permissions of this process."""

    code = "storage_denied"
    status: ClassVar[int] = 500


class StorageUnavailable(Unavailable):
    """The store failed in another way; trying again may help."""

    code = "storage_unavailable"


class InvalidSignature(Forbidden):
    """A signed URL that was altered, is incomplete, or was meant for something else."""

    code = "invalid_signature"


class ExpiredUrl(Forbidden):
    """A signed URL past its time."""

    code = "expired_url"


FAILURES = (StorageFull, StorageDenied, StorageUnavailable)
"""Those for which nobody but the store can be blamed."""

BACKEND_ERRORS = (backend_errors.BaseError, OSError, ValueError)
"""What the backend raises; give it to ``translated``."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}


def translated(error: Exception, key: str) -> OddishError:
    """The named error for what the backend raised while it worked on ``key``; the failures of a store are counted."""
    named = _named(error, key)
    if isinstance(named, FAILURES):
        STORE_ERRORS.labels(named.code).inc()
    return named


def _named(error: Exception, key: str) -> OddishError:
    if isinstance(error, FileNotFoundError):
        return ObjectNotFound(f'There is no object "{key}" in the store.')
    if isinstance(error, backend_errors.AlreadyExistsError | FileExistsError):
        return AlreadyExists(f'The object "{key}" exists already and is never overwritten.')
    number = _os_error_number(error)
    if number in _FULL:
        return StorageFull(
            f'No space left in the object store while writing "{key}".', fix="Free space, or enlarge the store."
        )
    credentials = backend_errors.PermissionDeniedError | backend_errors.UnauthenticatedError
    if number in _DENIED or isinstance(error, credentials):
        return StorageDenied(
            f'The object store denies access to "{key}".', fix="Check its permissions, or the storage credentials."
        )
    reason = str(error).partition("\n")[0]
    return StorageUnavailable(
        f'The object store failed on "{key}": {reason}.', fix="Try again; see ODDISH_STORAGE_URL."
    )


def _os_error_number(error: Exception) -> int | None:
    if isinstance(error, OSError):
        return error.errno
    # The backend wraps errors of the operating system and keeps their number only in its message.
    for number in _FULL | _DENIED:
        if f"(os error {number})" in str(error):
            return number
    return None
