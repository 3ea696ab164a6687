"""What was said of something in the last seconds, kept of so many things at most. Pure."""


class Lately[Key, Value]:
    """Forgets what is older than ``seconds``, and what is oldest beyond ``most``. Times are of one monotonic clock."""

    def __init__(self, *, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._said: dict[Key, tuple[float, Value]] = {}
        """The oldest first."""

    def __len__(self) -> int:
        return len(self._said)

    def note(self, key: Key, value: Value, *, now: float) -> None:
        self._said.pop(key, None)
        self._said[key] = now, value
        while self._is_old(oldest := next(iter(self._said)), now) or len(self._said) > self._most:
            del self._said[oldest]

    def get(self, key: Key, *, now: float) -> Value | None:
        return self._said[key][1] if key in self._said and not self._is_old(key, now) else None

    def _is_old(self, key: Key, now: float) -> bool:
        return now - self._said[key][0] >= self._seconds
