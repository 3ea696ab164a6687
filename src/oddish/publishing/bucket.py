"""A bucket of the Hugging Face Hub. The only place that knows ``huggingface_hub``.

Its extra is ``oddish[hf]``. What is read comes by plain HTTP; what is written goes as ``huggingface_hub`` sends it.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from oddish.errors import Forbidden, NotFound, OddishError, Unauthenticated, Unavailable
from oddish.publishing.address import BucketAddress

if TYPE_CHECKING:
    from huggingface_hub import BucketFile as HubFile
    from huggingface_hub import HfApi

TOKEN = "HF_TOKEN"  # noqa: S105 - the variable's name
ENDPOINT = "HF_ENDPOINT"
PLAIN_HTTP = "HF_HUB_DISABLE_XET"
SHOWN = 300
MOST_ANSWER = 64 * 1024
_TOKENS = "https://huggingface.co/settings/tokens"


class MissingExtra(OddishError):
    """A package that only some need is not installed."""

    code = "missing_extra"


@dataclass(frozen=True, slots=True)
class BucketFile:
    size: int
    modified: int | None
    """Milliseconds since 1970, as whoever wrote it said."""


class Bucket:
    """The bucket at ``address``, with the token in ``HF_TOKEN``. Paths are those of the results directory in it.

    Every method raises ``Unauthenticated``, ``Forbidden``, ``NotFound``, ``Unavailable``; making one ``MissingExtra``.
    """

    def __init__(self, address: BucketAddress, environment: Mapping[str, str] = os.environ) -> None:
        self.address = address
        self._api = _api(environment)

    def check(self) -> None:
        """Is it there, and may the token write to it?"""
        with self._explained():
            self._api.bucket_info(self.address.bucket)
            self._get(f"api/buckets/{self.address.bucket}/xet-write-token", MOST_ANSWER)

    def files(self, below: str) -> dict[str, BucketFile]:
        """All files in a directory, by their paths."""
        prefix = self.address.key(f"{below}/")
        begin = len(self.address.key(""))
        with self._explained():
            tree = self._api.list_bucket_tree(self.address.bucket, prefix=prefix.rstrip("/"), recursive=True)
            return {
                item.path[begin:]: _file(item) for item in tree if item.type == "file" and item.path.startswith(prefix)
            }

    def file(self, path: str) -> BucketFile | None:
        with self._explained():
            found = self._api.get_bucket_paths_info(self.address.bucket, [self.address.key(path)])
            return next((_file(item) for item in found), None)

    def read(self, path: str, limit: int) -> bytes:
        """At most ``limit`` bytes of a file, and one."""
        with self._explained():
            return self._get(f"buckets/{self.address.bucket}/resolve/{quote(self.address.key(path), safe='')}", limit)

    def add(self, directory: Path, paths: Sequence[str]) -> None:
        """Upload files of a directory under the paths that they have there."""
        with self._explained():
            self._api.batch_bucket_files(
                self.address.bucket, add=[(directory / path, self.address.key(path)) for path in paths]
            )

    def remove(self, paths: Sequence[str]) -> None:
        with self._explained():
            self._api.batch_bucket_files(self.address.bucket, delete=list(map(self.address.key, paths)))

    def _get(self, path: str, limit: int) -> bytes:
        from huggingface_hub.utils import (  # type: ignore[attr-defined]  # public, and not declared so
            build_hf_headers,
            get_session,
            hf_raise_for_status,
        )

        headers = build_hf_headers(token=self._api.token)
        url = f"{self._api.endpoint}/{path}"
        with get_session().stream("GET", url, headers=headers, follow_redirects=True) as response:
            hf_raise_for_status(response)
            content = bytearray()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > limit:
                    break
            return bytes(content[: limit + 1])

    @contextmanager
    def _explained(self) -> Iterator[None]:
        from huggingface_hub.errors import BucketBatchError, BucketNotFoundError, HfHubHTTPError

        bucket = self.address.bucket
        try:
            yield
        except BucketNotFoundError as error:
            raise NotFound(
                f"There is no bucket {bucket}, or none that the token in {TOKEN} may see.",
                fix=f"Make it with `hf buckets create {bucket}`, or use a token of its owner.",
            ) from error
        except BucketBatchError as error:
            first = error.failures[0] if error.failures else {}
            said = f"{first.get('path', 'A file')} ({len(error.failures)} in all): {first.get('error', 'refused')}"
            raise Unavailable(f"Bucket {bucket} refused {said[:SHOWN]}.", fix="Run the command again.") from error
        except HfHubHTTPError as error:
            raise _refusal(bucket, error.response.status_code, str(error)) from error
        except OddishError:
            raise
        except Exception as error:
            raise Unavailable(
                f"Bucket {bucket} does not answer: {type(error).__name__}: {str(error)[:SHOWN]}.",
                fix="Look at the network and HF_ENDPOINT, then run the command again: what was sent is not sent again.",
            ) from error


def _refusal(bucket: str, status: int, said: str) -> OddishError:
    if status == 401:
        return Unauthenticated(f"The token in {TOKEN} is not accepted.", fix=f"Make another at {_TOKENS}.")
    if status == 403:
        return Forbidden(
            f"The token in {TOKEN} may not write to bucket {bucket}.", fix=f"Make one with write access at {_TOKENS}."
        )
    return Unavailable(f"Bucket {bucket} answered {status}: {said[:SHOWN]}.", fix="Run the command again.")


def _api(environment: Mapping[str, str]) -> "HfApi":
    token = environment.get(TOKEN, "").strip()
    if not token:
        raise Unauthenticated(
            f"{TOKEN} is not set, and nothing is published without a token.",
            fix=f"Make one with write access at {_TOKENS} and set {TOKEN}.",
        )
    os.environ.setdefault(PLAIN_HTTP, "1")
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]
    except ImportError as error:
        raise MissingExtra(
            "Publishing needs the package huggingface-hub, which is not installed.",
            fix="Install it with `pip install 'oddish[hf]'`.",
        ) from error
    disable_progress_bars()
    return HfApi(endpoint=environment.get(ENDPOINT) or None, token=token, library_name="oddish")


def _file(item: "HubFile") -> BucketFile:
    return BucketFile(item.size, round(item.mtime.timestamp() * 1000) if item.mtime else None)
