"""What a worker makes of a child whose connection breaks."""

import asyncio
from typing import cast

import pytest

from oddish.engine.client import Attempt, AttemptCrashed, ForkServer

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("broken", [BrokenPipeError(), ConnectionResetError(), None])
async def test_a_child_that_is_killed_before_it_has_read_its_run_has_crashed(broken: ConnectionError | None) -> None:
    reader = asyncio.StreamReader()
    if broken is None:
        reader.feed_eof()
    else:
        reader.set_exception(broken)
    attempt = Attempt(ForkServer(), "t-0.1", reader, cast("asyncio.StreamWriter", None))
    attempt.end(-9)
    with pytest.raises(AttemptCrashed):
        async for _ in attempt:
            pass
