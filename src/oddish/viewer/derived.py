"""What follows from files as they were last read: worked out once for all who ask, until one of the files changes."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from threading import Lock


@dataclass(slots=True)
class _Entry[T]:
    sources: Sequence[object]
    lock: Lock = field(default_factory=Lock)
    found: list[T] = field(default_factory=list)
    """One, once it is made."""


class Derived[K: Hashable, T]:
    """The latest ``most`` of them. Safe to share between threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[K, _Entry[T]] = OrderedDict()
        self._lock = Lock()

    def of(self, key: K, sources: Sequence[object], make: Callable[[], T]) -> T:
        """What ``make`` made of the very same ``sources``, or makes now, while others who ask for it wait."""
        with self._lock:
            entry = self._kept.get(key)
            if entry is None or not _same(entry.sources, sources):
                entry = self._kept[key] = _Entry(sources)
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        with entry.lock:
            if not entry.found:
                entry.found.append(make())
            return entry.found[0]


def _same(some: Sequence[object], others: Sequence[object]) -> bool:
    return len(some) == len(others) and all(one is other for one, other in zip(some, others, strict=True))
