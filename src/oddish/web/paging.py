"""One page of a list, chosen by ``?page=``."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from oddish.viewer.parameters import whole

SIZE = 100


@dataclass(frozen=True, slots=True)
class Paging:
    """Which entries are shown, counted from 1, and the addresses of the pages beside this one."""

    page: int
    pages: int
    total: int
    first: int
    last: int
    previous: str | None
    next: str | None

    def of[T](self, entries: Sequence[T]) -> Sequence[T]:
        return entries[self.first - 1 : self.last] if self.last else entries[:0]


def paging(query: QueryParams, total: int, *, size: int = SIZE, name: str = "page") -> Paging:
    """The page that ``query`` asks for, or the last one that there is. Raises ``InvalidInput`` for no number."""
    pages = max(1, -(-total // size))
    page = min(whole(name, query.get(name), 1), pages)

    def address(number: int) -> str | None:
        others = [(key, value) for key, value in query.multi_items() if key != name]
        return f"?{urlencode([*others, (name, number)])}" if 1 <= number <= pages else None

    return Paging(
        page=page,
        pages=pages,
        total=total,
        first=min((page - 1) * size + 1, total),
        last=min(page * size, total),
        previous=address(page - 1),
        next=address(page + 1),
    )
