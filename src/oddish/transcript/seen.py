"""What was met before, as far as memory goes."""

from collections import OrderedDict
from collections.abc import Hashable

MAX_SEEN = 16_384


class Seen:
    """The last ``limit`` things; of each its hash alone is kept, whatever its size."""

    def __init__(self, limit: int = MAX_SEEN) -> None:
        self._limit = limit
        self._hashes: OrderedDict[int, None] = OrderedDict()

    def __contains__(self, thing: Hashable) -> bool:
        return hash(thing) in self._hashes

    def add(self, thing: Hashable) -> bool:
        """Whether it is new."""
        key = hash(thing)
        if key in self._hashes:
            return False
        self._hashes[key] = None
        if len(self._hashes) > self._limit:
            self._hashes.popitem(last=False)
        return True
