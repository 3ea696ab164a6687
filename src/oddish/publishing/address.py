"""``hf://buckets/NAMESPACE/NAME[/PATH]``: where in which bucket a results directory lies. Pure."""

import re
from dataclasses import dataclass

from oddish.errors import InvalidInput

SCHEME = "hf://"
_START = f"{SCHEME}buckets/"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class BucketAddress:
    namespace: str
    name: str
    path: tuple[str, ...] = ()

    @property
    def bucket(self) -> str:
        return f"{self.namespace}/{self.name}"

    def key(self, path: str) -> str:
        """What a file of the directory is called in the bucket."""
        return "/".join((*self.path, path))

    def __str__(self) -> str:
        return _START + "/".join((self.bucket, *self.path))


def read_address(text: str) -> BucketAddress:
    """Raises ``InvalidInput`` for anything else than an address of a bucket."""
    namespace, _, rest = text.removeprefix(_START).rstrip("/").partition("/")
    name, *path = rest.split("/")
    names = text.startswith(_START) and _NAME.fullmatch(namespace) and _NAME.fullmatch(name)
    if not names or not all(
        part and part not in (".", "..") and part.isprintable() and "\\" not in part for part in path
    ):
        raise InvalidInput(
            f"{text!r} is no address of a bucket.", fix=f"Write {_START}NAMESPACE/NAME, or a path in it after that."
        )
    return BucketAddress(namespace, name, tuple(path))
