"""What is looked at again only after a while."""

import asyncio

import pytest

from oddish.recent import Recent

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Looked:
    def __init__(self) -> None:
        self.now = 0.0
        self.times = 0
        self.recent = Recent(self.look, seconds=5, clock=lambda: self.now)

    async def look(self) -> int:
        await asyncio.sleep(0)
        self.times += 1
        if self.times == 3:
            raise OSError
        return self.times


async def test_many_who_ask_at_once_cost_one_look() -> None:
    looked = Looked()
    assert await asyncio.gather(*(looked.recent.get() for _ in range(10))) == [1] * 10


async def test_it_is_looked_at_again_after_a_while() -> None:
    looked = Looked()
    assert await looked.recent.get() == 1
    looked.now = 4.9
    assert await looked.recent.get() == 1
    looked.now = 5
    assert await looked.recent.get() == 2


async def test_a_failure_is_not_kept() -> None:
    looked = Looked()
    looked.times = 2
    with pytest.raises(OSError):  # noqa: PT011
        await looked.recent.get()
    assert await looked.recent.get() == 4
